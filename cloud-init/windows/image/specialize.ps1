# Installs what would need a restart before the first start of Windows, which itself follows a restart: saves one boot.
# Google's agent runs this once, in the specialize phase of Setup (metadata key sysprep-specialize-script-ps1). If it
# fails, the executor does the same later and restarts, so a failure is only a warning.
[CmdletBinding()]
param()
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
try { [void](Install-WindowsFeature -Name 'Containers') }
catch { Write-Warning "mullion: the feature Containers: $($_.Exception.Message); the executor installs it later" }
