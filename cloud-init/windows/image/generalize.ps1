# Generalizes this machine with its cloud's own program, which shuts it down; take the image afterwards.
# At its first boot a clone gets its name, identity and user-data from the same program.
[CmdletBinding()]
param([Parameter(Mandatory)] [ValidateSet('aws', 'azure', 'gcp')] [string] $Cloud)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

$Ec2LaunchV1 = "$env:ProgramData\Amazon\EC2-Windows\Launch\Scripts"
$Ec2LaunchV2 = "$env:ProgramFiles\Amazon\EC2Launch\EC2Launch.exe"
$GceSysprep = "$env:ProgramFiles\Google\Compute Engine\sysprep\gcesysprep.bat"
$Sysprep = "$env:SystemRoot\System32\Sysprep\sysprep.exe"
$Setup = 'HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State'
$Resealed = 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE'
$LogLines = 20    # of each log of sysprep, in the error
$Agents = 'RdAgent', 'WindowsAzureGuestAgent'
$Answers = "$env:SystemRoot\System32\Sysprep\unattend.xml", "$env:SystemRoot\Panther\unattend.xml"

# .SYNOPSIS
# Run a program; throw if it fails. Without the pipeline PowerShell would not wait for a program with windows, such as
# sysprep.exe, nor set $LASTEXITCODE.
function Invoke-Own {
    [CmdletBinding()]
    param([string] $Program, [string[]] $Words = @())
    & $Program @Words | Write-Host
    if ($LASTEXITCODE) { throw "$Program ended with $LASTEXITCODE" }
}

# .SYNOPSIS
# Generalize with EC2Launch v2 (Windows Server 2022 and newer, EC2LaunchV2 images of 2019): clones run user-data.
function Start-Ec2LaunchV2 {
    [CmdletBinding()]
    param()
    Invoke-Own $Ec2LaunchV2 'sysprep', '--clean', '--shutdown'
}

# .SYNOPSIS
# Generalize with EC2Launch v1 (Windows Server 2019), scheduled, so that clones run user-data. Its scripts run in their
# own process: they are not written for this script's strict mode.
function Start-Ec2LaunchV1 {
    [CmdletBinding()]
    param()
    $run = '-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File'
    Invoke-Own 'powershell.exe' ($run + "$Ec2LaunchV1\InitializeInstance.ps1", '-Schedule')
    Invoke-Own 'powershell.exe' ($run + "$Ec2LaunchV1\SysprepInstance.ps1")
}

# .SYNOPSIS
# Generalize on Azure: wait for its agents, delete answer files, shut down once the image is sealed.
function Start-AzureSysprep {
    [CmdletBinding()]
    param()
    $watch = [Diagnostics.Stopwatch]::StartNew()
    Add-Type -AssemblyName System.ServiceProcess
    foreach ($name in $Agents) {
        $agent = [ServiceProcess.ServiceController]::new($name)
        try { $agent.WaitForStatus('Running', [TimeSpan]::FromMinutes(5)) } finally { $agent.Dispose() }
    }
    foreach ($file in $Answers) { if ([IO.File]::Exists($file)) { [IO.File]::Delete($file) } }
    Invoke-Own $Sysprep '/oobe', '/generalize', '/mode:vm', '/quiet', '/quit'
    while ([Microsoft.Win32.Registry]::GetValue($Setup, 'ImageState', '') -ne $Resealed) {
        if ($watch.Elapsed.TotalMinutes -gt 30) { throw 'the image was not sealed within 30 minutes' }
        Start-Sleep -Seconds 5
    }
    Invoke-Own 'shutdown.exe' '/s', '/t', '0'
}

# .SYNOPSIS
# Return the last lines of sysprep's logs; nothing if there are none.
function Get-SysprepLine {
    [CmdletBinding()]
    param()
    foreach ($name in 'setuperr.log', 'setupact.log') {
        $path = "$env:SystemRoot\System32\Sysprep\Panther\$name"
        if (-not [IO.File]::Exists($path)) { continue }
        $file = [IO.FileStream]::new($path, 'Open', 'Read', 'ReadWrite, Delete')    # sysprep may have it open
        try { $text = [IO.StreamReader]::new($file).ReadToEnd() } finally { $file.Dispose() }
        $text -split "`r?`n" | Where-Object { $_ } | Select-Object -Last $LogLines | ForEach-Object { "${name}: $_" }
    }
}

try {
    switch ($Cloud) {
        'aws' { if ([IO.File]::Exists($Ec2LaunchV2)) { Start-Ec2LaunchV2 } else { Start-Ec2LaunchV1 } }
        'azure' { Start-AzureSysprep }
        'gcp' { Invoke-Own $GceSysprep }
    }
}
catch {
    $lines = @("sysprep for $Cloud failed: $($_.Exception.GetBaseException().Message)") + @(Get-SysprepLine)
    throw ($lines -join "`r`n")
}
