# Runs steps of a plan with the executor's own functions; only the adapters and routes of Windows are stand-ins.
# -Steps: JSON file with a list of { kind, fields }. Prints one line for each step: kind, held before, held afterwards.
[CmdletBinding()]
param([string] $Steps)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

. C:\mullion\loader.ps1 -Functions
foreach ($folder in 'modules', 'kinds') {
    foreach ($file in [IO.Directory]::GetFiles("C:\mullion\$folder", '*.ps1')) { . $file }
}

$Forwarding = @{}
$Own = 7    # index of the machine's adapter

# The host has an adapter for each endpoint that is attached to it (state 2), with the endpoint's address.
function Get-HostEndpoint { Send-HnsRequest 'GET' 'endpoints' | Where-Object { $_.State -eq 2 } }

function Get-NetAdapter {
    [CmdletBinding()]
    param([string] $Name, [uint32[]] $InterfaceIndex)
    if ($InterfaceIndex) {
        $taken = Send-HnsRequest 'GET' 'networks' | Where-Object { $_.Type -ne 'NAT' }
        return [pscustomobject] @{ Name = if ($taken) { 'vEthernet (eth0)' } else { 'eth0' }; Status = 'Up' }
    }
    $names = 'eth0', 'vEthernet (eth0)', (Get-HostEndpoint | ForEach-Object { "vEthernet ($($_.Name))" })
    $names | ForEach-Object { $_ } | Where-Object { -not $Name -or $_ -eq $Name } |
        ForEach-Object { [pscustomobject] @{ Name = $_; Status = 'Up' } }
}

function Get-NetIPAddress {
    [CmdletBinding()]
    param([string] $InterfaceAlias, [uint32] $InterfaceIndex, [string] $AddressFamily)
    $found = if ($InterfaceIndex -eq $Own) { '10.20.0.4' } else {
        Get-HostEndpoint | Where-Object { $InterfaceAlias -eq "vEthernet ($($_.Name))" } | ForEach-Object { $_.IPAddress }
    }
    $found | ForEach-Object { [pscustomobject] @{ IPAddress = $_; AddressState = 'Preferred' } }
}

function Get-NetRoute {
    [CmdletBinding()]
    param([string] $DestinationPrefix)
    if ($DestinationPrefix -eq '0.0.0.0/0') {
        [pscustomobject] @{ InterfaceIndex = $Own; NextHop = '10.20.0.1'; RouteMetric = 0; InterfaceMetric = 5 }
    }
}

function Get-NetIPInterface {
    [CmdletBinding()]
    param([string] $InterfaceAlias, [uint32] $InterfaceIndex, [string] $AddressFamily)
    [pscustomobject] @{ Forwarding = $Forwarding["$InterfaceAlias $InterfaceIndex $AddressFamily"] }
}

function Set-NetIPInterface {
    [CmdletBinding()]
    param([string] $InterfaceAlias, [uint32] $InterfaceIndex, [string] $AddressFamily, [string] $Forwarding)
    $script:Forwarding["$InterfaceAlias $InterfaceIndex $AddressFamily"] = $Forwarding
}

foreach ($step in (Read-Json $Steps)['steps']) {
    $run = New-Run @{ machine = @{ address = '10.20.0.4'; pod_cidr = '10.244.4.0/24' }; facts = @{} } $false
    $run['Limit'] = 60
    $kind = ($step['kind'].Split('-') | ForEach-Object { $_.Substring(0, 1).ToUpper() + $_.Substring(1) }) -join ''
    $before = & "Test-${kind}Step" $run $step['fields']
    if (-not $before) { & "Set-${kind}Step" $run $step['fields'] }
    "$($step['kind']) $([bool] $before) $([bool] (& "Test-${kind}Step" $run $step['fields']))"
}
