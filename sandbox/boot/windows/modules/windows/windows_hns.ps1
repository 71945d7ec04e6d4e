# Stand-ins for HNS (hns.psm1 of microsoft/SDN) and the adapters it makes; windows.psm1 keeps their books.
# Networks, endpoints and policylists are books by id; "outage" says how often routes are gone once a switch is made.

# The adapters of the machine: its own, and those of a virtual switch and of endpoints that the host has; or a book.
function Get-AdapterName {
    $kept = Get-Kept 'adapters'
    if ($kept.names) { return $kept.names }
    'Ethernet'
    $networks = (Get-Kept 'networks').Values
    if ($networks | Where-Object { $_.Type -ne 'nat' }) { 'vEthernet (Ethernet)' }
    $networks | Where-Object { $_.Type -eq 'nat' } | ForEach-Object { "vEthernet ($($_.Name))" }
    (Get-Kept 'endpoints').Values | Where-Object { $_.SharedContainers } | ForEach-Object { "vEthernet ($($_.Name))" }
}

function Get-NetAdapter {
    [CmdletBinding()]
    param([string] $Name)
    Get-AdapterName | Where-Object { -not $Name -or $_ -like $Name } | ForEach-Object { [pscustomobject] @{ Name = $_ } }
}

# Where forwarding of an interface is kept: an endpoint's goes with it. The management adapter is that of index.
function Get-InterfaceKey([string] $InterfaceAlias, $InterfaceIndex) {
    if (-not $InterfaceAlias) { return "index $InterfaceIndex" }
    if ($InterfaceAlias -notin (Get-AdapterName)) { return }
    foreach ($each in (Get-Kept 'endpoints').Values) {
        if ($InterfaceAlias -eq "vEthernet ($($each.Name))") { return $each.ID }
    }
    $InterfaceAlias
}

function Get-NetIPInterface {
    [CmdletBinding()]
    param([string] $InterfaceAlias, [uint32] $InterfaceIndex, [ValidateSet('IPv4', 'IPv6')] [string] $AddressFamily)
    $key = Get-InterfaceKey $InterfaceAlias $InterfaceIndex
    if (-not $key) { return Write-Error "No MSFT_NetIPInterface objects found with '$InterfaceAlias'" }
    $kept = (Get-Kept 'forwarding')[$key]
    [pscustomobject] @{ Forwarding = if ($kept) { $kept } else { 'Disabled' }; NlMtu = 9001 }
}

function Set-NetIPInterface {
    [CmdletBinding()]
    param(
        [string] $InterfaceAlias, [uint32] $InterfaceIndex, [ValidateSet('IPv4', 'IPv6')] [string] $AddressFamily,
        [ValidateSet('Enabled', 'Disabled')] [string] $Forwarding
    )
    $key = Get-InterfaceKey $InterfaceAlias $InterfaceIndex
    if (-not $key) { throw "No MSFT_NetIPInterface objects found with '$InterfaceAlias'" }
    Write-Asked 'Set-NetIPInterface' $PSBoundParameters
    $kept = Get-Kept 'forwarding'
    $kept[$key] = $Forwarding
    Set-Kept 'forwarding' $kept
}

# Whether the address lies in the range; 10.244.3.0/24 and so on.
function Test-Inside([string] $Address, [string] $Range) {
    $prefix, $bits = $Range.Split('/')
    $numbers = foreach ($each in $Address, $prefix) {
        $octets = ([Net.IPAddress] $each).GetAddressBytes()
        [Array]::Reverse($octets)
        [BitConverter]::ToUInt32($octets, 0) -shr (32 - [int] $bits)
    }
    $numbers[0] -eq $numbers[1]
}

function Assert-Network([hashtable] $Body) {
    if ($Body.Type -notin 'Overlay', 'L2Bridge' -or @($Body.Subnets).Count -lt 1) { throw 'Invalid JSON document string.' }
    foreach ($subnet in $Body.Subnets) {
        if (-not (Test-Inside $subnet.GatewayAddress $subnet.AddressPrefix)) { throw 'The parameter is incorrect.' }
    }
}

function Assert-Endpoint([hashtable] $Body) {
    $network = (Get-Kept 'networks')[$Body.VirtualNetwork]
    if (-not $network) { throw 'The network was not found.' }
    if (-not (Test-Inside $Body.IPAddress $network.Subnets[0].AddressPrefix)) { throw 'The address is outside the subnet.' }
    if ((Get-Kept 'endpoints').Values | Where-Object { $_.IPAddress -eq $Body.IPAddress }) { throw 'Address in use.' }
}

# A load balancer holds its network (17763.1554 and later); endpoints go with theirs.
function Remove-Kept([string] $Type, [hashtable] $Kept, [string] $Id) {
    if (-not $Kept.ContainsKey($Id)) { throw 'The object was not found.' }
    if ($Type -eq 'networks') {
        if ((Get-Kept 'policylists').Count) { throw 'The network is in use: it has active policies.' }
        $endpoints = Get-Kept 'endpoints'
        foreach ($each in @($endpoints.Values)) { if ($each.VirtualNetwork -eq $Id) { $endpoints.Remove($each.ID) } }
        Set-Kept 'endpoints' $endpoints
    }
    $Kept.Remove($Id)
}

# As in hns.psm1 of microsoft/SDN, with HNS behind it.
function Invoke-HnsRequest {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [ValidateSet('GET', 'POST', 'DELETE')] [string] $Method,
        [Parameter(Mandatory)] [ValidateSet('networks', 'endpoints', 'policylists')] [string] $Type,
        [ValidateSet('attach')] [string] $Action, [string] $Data, [Guid] $Id
    )
    if ($Method -ne 'GET') { Write-Asked 'Invoke-HnsRequest' $PSBoundParameters }
    $kept = Get-Kept $Type
    $body = if ($Data) { ConvertFrom-Json $Data -AsHashtable }
    if ($Method -eq 'GET') { return $kept.Values | ForEach-Object { ConvertFrom-Json (ConvertTo-Json $_ -Depth 9) } }
    if ($Method -eq 'DELETE') { Remove-Kept $Type $kept "$Id" }
    elseif ($Action) {
        if ($body.SystemType -ne 'Host' -or $body.CompartmentId -ne 1) { throw 'The parameter is incorrect.' }
        $kept["$Id"].SharedContainers = @('00000000-0000-0000-0000-000000000000')
    }
    else {
        if ($kept.Values | Where-Object { $_.Name -eq $body.Name }) { throw 'The object already exists.' }
        if ($Type -eq 'networks') { Assert-Network $body } else { Assert-Endpoint $body }
        if ($Type -eq 'networks') { Set-Kept 'away' @{ left = [int] (Get-Kept 'outage').polls } }
        $body.ID = "$([Guid]::NewGuid())"
        $kept[$body.ID] = $body
    }
    Set-Kept $Type $kept
    if ($body) { [pscustomobject] $body }
}

# Whether a new switch keeps the machine's routes away still: so many looks, or for good (less than none).
function Test-Away {
    $away = Get-Kept 'away'
    if (-not $away.left) { return $false }
    Set-Kept 'away' @{ left = $away.left - [int] ($away.left -gt 0) }
    $true
}
