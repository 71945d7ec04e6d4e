# Makes an image of this machine: runs the image phases of the plan, with their restarts, removes what belongs to one
# node, and runs the cloud's sysprep, which shuts the machine down. Run it once, as an administrator, on a machine from
# the stock image of the plan's Windows; take the image when the machine has stopped. result.json and bake.log have the
# outcome. -NoGeneralize stops before sysprep.
[CmdletBinding()]
param([switch] $NoGeneralize)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot\..\loader.ps1" -Functions
. "$PSScriptRoot\..\modules\json.ps1"

$Task = 'mullion-bake'
$Folder = "$env:ProgramData\mullion"

# .SYNOPSIS
# Write a line to bake.log and the console.
function Write-Bake {
    [CmdletBinding()]
    param([string] $Message)
    $line = '{0:s}Z {1}' -f [DateTime]::UtcNow, $Message
    [void][IO.Directory]::CreateDirectory($Folder)
    [IO.File]::AppendAllText("$Folder\bake.log", "$line`r`n")
    [Console]::WriteLine($line)
}

# .SYNOPSIS
# Register a task that runs this script as SYSTEM at every boot; it is removed at the end.
function Register-Bake {
    [CmdletBinding()]
    param([bool] $Whole)
    $run = '-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "{0}"' -f "$PSScriptRoot\bake.ps1"
    if (-not $Whole) { $run += ' -NoGeneralize' }
    $job = @{
        TaskName  = $Task
        Action    = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument $run
        Trigger   = New-ScheduledTaskTrigger -AtStartup
        Principal = New-ScheduledTaskPrincipal -UserId 'SYSTEM' -LogonType ServiceAccount -RunLevel Highest
        Settings  = New-ScheduledTaskSettingsSet -Priority 4 -ExecutionTimeLimit 0:0 -MultipleInstances IgnoreNew
    }
    [void](Register-ScheduledTask @job -Force)
}

$bake = Read-Json "$PSScriptRoot\..\bake.json"
Register-Bake (-not $NoGeneralize)
# The machine belongs to no cluster: it has no name and no address.
$nobody = ConvertTo-JsonText ([ordered] @{ machine = @{}; facts = @{ cloud = $bake['cloud'] } })
Set-WholeFile "$Mullion\machine.json" $Utf8.GetBytes($nobody)
& "$PSScriptRoot\..\node.ps1"
$result = Read-Json "$Folder\result.json"
if ($LASTEXITCODE -or $result['state'] -ne 'done') {
    Write-Bake "$($result['state']) $($result['name']) $($result['message'])"
    exit [int] ($result['state'] -eq 'failed')
}
Write-Bake 'the image phases are applied'
& "$PSScriptRoot\clean.ps1"
Unregister-ScheduledTask -TaskName $Task -Confirm:$false
Write-Bake 'nothing of one node or cluster is left'
if ($NoGeneralize) { exit 0 }
$own = [IO.Path]::GetFullPath("$PSScriptRoot\..")
foreach ($file in "$Folder\bake.log", "$own\plan.json", "$own\bake.json") { [IO.File]::Delete($file) }
try { & "$PSScriptRoot\generalize.ps1" -Cloud $bake['cloud'] }
catch { Write-Bake $_.Exception.Message; exit 1 }
