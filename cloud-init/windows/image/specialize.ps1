# What wants a restart of Windows, done before its first start, which comes after one: so a machine is there earlier.
# Google's agent runs this once, in the specialize phase of Setup (metadata key sysprep-specialize-script-ps1). Where it
# fails the executor does the same, with a restart of its own, so a failure is only told.
[CmdletBinding()]
param()
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
try { [void](Install-WindowsFeature -Name 'Containers') }
catch { Write-Warning "mullion: the feature Containers: $($_.Exception.Message); the executor installs it later" }
