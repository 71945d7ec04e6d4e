# Runs steps of a plan with the executor's own functions; only the adapters and routes of Windows are stand-ins.
# -Steps: JSON file with a list of { kind, fields }. Prints one line for each step: kind, held before, held afterwards.
# -Look: looks at the network once, as the task of every two minutes does.
# -Rows: prints name, pod range and flannel's backend-data of each Node, as the network watch reads them.
[CmdletBinding()]
param([string] $Steps, [switch] $Look, [switch] $Rows)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

. C:\mullion\loader.ps1 -Functions
. C:\mullion\watch-network.ps1
. C:\mullion\load-modules.ps1

$env:PSModulePath = 'C:\fakes\modules;' + $env:PSModulePath
Import-Module windows -DisableNameChecking

function New-MachineRun {
    $run = New-Run @{ machine = @{ address = '10.20.0.4'; pod_cidr = '10.244.4.0/24' }; facts = @{} } $false
    $run['Limit'] = 60
    $run
}

if ($Rows) {
    $run = New-MachineRun
    $found = Get-FlannelRow $run (Get-PlannedStep $run 'pod-range')
    return $found | ForEach-Object { $_ -join '|' }
}
if ($Look) { Invoke-NetworkWatch (New-MachineRun); return }
foreach ($step in (Read-Json $Steps)['steps']) {
    $run = New-MachineRun
    $kind = ($step['kind'].Split('-') | ForEach-Object { $_.Substring(0, 1).ToUpper() + $_.Substring(1) }) -join ''
    $before = & "Test-${kind}Step" $run $step['fields']
    if (-not $before) { & "Set-${kind}Step" $run $step['fields'] }
    "$($step['kind']) $([bool] $before) $([bool] (& "Test-${kind}Step" $run $step['fields']))"
}
