# Stand-ins for HNS (hns.psm1 of microsoft/SDN) and the adapters it makes; windows.psm1 keeps their books.
# Networks, endpoints and policylists are books by id; "outage" says how often routes are gone once a switch is made,
# "linger" how often a removed network is still listed. An endpoint of the host is "attached", which HNS does not show.

# The adapters of the machine: its own, and those of a virtual switch and of endpoints that the host has; or a book.
function Get-AdapterName {
    $kept = Get-Kept 'adapters'
    if ($kept.names) { return $kept.names }
    'Ethernet'
    $networks = (Get-Kept 'networks').Values
    if ($networks | Where-Object { $_.Type -ne 'nat' }) { 'vEthernet (Ethernet)' }
    $networks | Where-Object { $_.Type -eq 'nat' } | ForEach-Object { "vEthernet ($($_.Name))" }
    (Get-Kept 'endpoints').Values | Where-Object { $_.attached } | ForEach-Object { "vEthernet ($($_.Name))" }
}

function Get-NetAdapter {
    [CmdletBinding()]
    param([string] $Name, [uint32[]] $InterfaceIndex)
    $names = @(Get-AdapterName | Where-Object { -not $Name -or $_ -like $Name })
    # the only interface that routes name is the machine's own: a virtual switch has taken it over, if there is one
    if ($InterfaceIndex) {
        $names = @($names | Where-Object { $_ -eq 'vEthernet (Ethernet)' }) + $names | Select-Object -First 1
    }
    $names | ForEach-Object { [pscustomobject] @{ Name = $_; Status = 'Up' } }
}

# Addresses of interface 7 are those of the book "addresses" ({address: state}), or the machine's own; an endpoint of
# the host has its own.
function Get-NetIPAddress {
    [CmdletBinding()]
    param([string] $InterfaceAlias, [uint32] $InterfaceIndex, [ValidateSet('IPv4', 'IPv6')] [string] $AddressFamily)
    if ($InterfaceAlias) {
        $found = @{}
        foreach ($each in (Get-Kept 'endpoints').Values) {
            $own = $each.attached -and $InterfaceAlias -eq "vEthernet ($($each.Name))"
            if ($own) { $found[$each.IPAddress] = 'Preferred' }
        }
    }
    else {
        $found = Get-Kept 'addresses'
        if (-not $found.Count) { $found = @{ (Get-SourceAddress) = 'Preferred' } }
    }
    if (-not $found.Count) { return Write-Error 'No matching MSFT_NetIPAddress objects found' }
    foreach ($address in $found.Keys) { [pscustomobject] @{ IPAddress = $address; AddressState = $found[$address] } }
}

# The source address of packets to the cloud; sends nothing.
function Get-SourceAddress {
    $probe = [Net.Sockets.Socket]::new('InterNetwork', 'Dgram', 'Udp')
    try {
        $probe.Connect('169.254.169.254', 80)
        $probe.LocalEndPoint.Address.ToString()
    }
    finally { $probe.Dispose() }
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
    if ($Type -eq 'networks') {
        $left = [int] (Get-Kept 'linger').polls
        if ($left) { Set-Kept 'leaving' @{ left = $left; network = $Kept[$Id] } }
    }
    $Kept.Remove($Id)
}

# A network that is removed, and that HNS still lists; nothing if there is none.
function Get-LeavingNetwork {
    $leaving = Get-Kept 'leaving'
    if (-not $leaving.left) { return }
    Set-Kept 'leaving' @{ left = $leaving.left - 1; network = $leaving.network }
    $leaving.network
}

# As HNS shows an object: without "attached".
function ConvertTo-Shown($Kept) {
    $shown = ConvertFrom-Json (ConvertTo-Json $Kept -Depth 9) -AsHashtable
    if ($shown.ContainsKey('attached')) { $shown.SharedContainers = @() }
    $shown.Remove('attached')
    ConvertFrom-Json (ConvertTo-Json $shown -Depth 9)
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
    if ($Method -eq 'GET') {
        if ($Type -eq 'networks') { Get-LeavingNetwork | ForEach-Object { ConvertTo-Shown $_ } }
        return $kept.Values | ForEach-Object { ConvertTo-Shown $_ }
    }
    if ($Method -eq 'DELETE') { Remove-Kept $Type $kept "$Id" }
    elseif ($Action) {
        if ($body.SystemType -ne 'Host' -or $body.CompartmentId -ne 1) { throw 'The parameter is incorrect.' }
        $again = $kept["$Id"].attached -or (Get-Kept 'attach').again
        $kept["$Id"].attached = $true
        Set-Kept $Type $kept
        if ($again) { throw 'This endpoint is already attached to the switch. ' }
    }
    else {
        if ($kept.Values | Where-Object { $_.Name -eq $body.Name }) { throw 'The object already exists.' }
        if ($Type -eq 'networks' -and (Get-Kept 'leaving').left) { throw 'The object already exists.' }
        if ($Type -eq 'networks') { Assert-Network $body } else { Assert-Endpoint $body }
        if ($Type -eq 'networks') {
            Set-Kept 'away' @{ left = [int] (Get-Kept 'outage').polls }
            Set-Kept 'losing' @{ left = [int] (Get-Kept 'loss').polls }
        }
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

# Services of Windows by the name of their program.
function Get-CimInstance {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $ClassName, [string] $Filter)
    if ($ClassName -ne 'Win32_Service' -or $Filter -notmatch "^Name='([\w-]+)'$") { throw 'Invalid class or query' }
    $process = Get-Process -Name $Matches[1] -ErrorAction Ignore | Select-Object -First 1
    [pscustomobject] @{ Name = $Matches[1]; ProcessId = if ($process) { $process.Id } else { 0 } }
}
