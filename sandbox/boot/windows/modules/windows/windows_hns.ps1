# Stand-ins for the adapters that HNS creates; windows.psm1 keeps their state. The stand-in of HNS itself (lab/hns)
# serves HNS's API, and writes into a file what the host sees of it. State "outage": for how many queries routes are
# missing after a virtual switch was created.

$Hns = "$env:SystemRoot\hns.json"
$NoHns = @{ cards = @{}; adapters = @(); made = 0 }
$HnsCache = @{ text = ''; state = $NoHns }

# Ids of errors: a query of NetTCPIP or NetAdapter finds nothing; WBEM_E_PROVIDER_LOAD_FAILURE (wbemcli.h).
$NotFoundId = 'CmdletizationQuery_NotFound'
$WmiErrorId = 'HRESULT 0x80041013'

# Return the error of WMI, if the state "wmi" has it for the cmdlet: {error: text, cmdlets: [name]}.
function Get-WmiError([string] $Name) {
    $kept = Get-Kept 'wmi'
    if ($Name -notin @($kept.cmdlets)) { return }
    if ($kept.hangs) { Start-Sleep -Seconds 3600 }
    $kept.error
}

# Return what the host sees of HNS. cards: address of each adapter of the machine, by name; adapters: those that HNS
# created; made: number of networks created so far.
function Get-HnsState {
    if (-not [IO.File]::Exists($Hns)) { return $NoHns }
    $text = [IO.File]::ReadAllText($Hns)
    if ($HnsCache.text -cne $text) {
        $HnsCache.text = $text
        $HnsCache.state = ConvertFrom-Json $text -AsHashtable
    }
    $HnsCache.state
}

# Return the adapters of endpoints attached to the host: id, address, and gateway if it causes a default route. Their
# interface indexes begin with $FirstEndpoint; the machine's own is 7.
function Get-HostEndpoint { (Get-HnsState).adapters | Where-Object { $_.id } }
$FirstEndpoint = 21

# Return the endpoint of an interface, if it is one.
function Get-InterfaceEndpoint([uint32] $Index) {
    if ($Index -ge $FirstEndpoint) { @(Get-HostEndpoint)[$Index - $FirstEndpoint] }
}

# Return the name of the adapter with the address that the machine's packets have.
function Get-CardName {
    $cards = (Get-HnsState).cards
    $own = Get-SourceAddress
    $name = $cards.Keys | Where-Object { $cards[$_] -eq $own } | Select-Object -First 1
    if ($name) { $name } else { 'Ethernet' }
}

# Return the names of the machine's adapters: its own, and those that HNS made. A test names others in adapters.json.
function Get-AdapterName {
    $kept = Get-Kept 'adapters'
    if ($kept.names) { return $kept.names }
    Get-CardName
    (Get-HnsState).adapters | ForEach-Object { $_.name }
}

function Get-NetAdapter {
    [CmdletBinding()]
    param([string] $Name, [uint32[]] $InterfaceIndex)
    $broken = Get-WmiError 'Get-NetAdapter'
    if ($broken) { return Write-Error $broken -ErrorId $WmiErrorId }
    $names = @(Get-AdapterName | Where-Object { -not $Name -or $_ -like $Name })
    # a virtual switch, if there is one, has taken over the machine's own interface
    if ($InterfaceIndex -and $InterfaceIndex[0] -ge $FirstEndpoint) {
        $names = @(Get-InterfaceEndpoint $InterfaceIndex[0] | ForEach-Object { $_.name })
    }
    elseif ($InterfaceIndex) {
        $names = @($names | Where-Object { $_ -eq "vEthernet ($(Get-CardName))" }) + $names | Select-Object -First 1
    }
    $names | ForEach-Object { [pscustomobject] @{ Name = $_; Status = 'Up' } }
}

# Return addresses. Interface 7 has those in the state "addresses" ({address: state}), or the machine's own. An endpoint
# of the host has its own, which is Duplicate if the state "duplicate" names it.
function Get-NetIPAddress {
    [CmdletBinding()]
    param(
        [string] $IPAddress, [uint32] $InterfaceIndex, [ValidateSet('IPv4', 'IPv6')] [string] $AddressFamily,
        [ValidateSet('Invalid', 'Tentative', 'Duplicate', 'Deprecated', 'Preferred')] [string] $AddressState
    )
    $broken = Get-WmiError 'Get-NetIPAddress'
    if ($broken) { return Write-Error $broken -ErrorId $WmiErrorId }
    $own = Get-Kept 'addresses'
    if (-not $own.Count) { $own = @{ (Get-SourceAddress) = 'Preferred' } }
    $all = @(foreach ($address in $own.Keys) { @{ IPAddress = $address; AddressState = $own[$address]; InterfaceIndex = 7 } })
    $index = $FirstEndpoint
    foreach ($endpoint in Get-HostEndpoint) {
        $state = if ((Get-Kept 'duplicate').address -eq $endpoint.address) { 'Duplicate' } else { 'Preferred' }
        $all += @{ IPAddress = $endpoint.address; AddressState = $state; InterfaceIndex = $index++ }
    }
    # routes of a test may name another interface as the machine's own
    if ($InterfaceIndex -and $InterfaceIndex -lt $FirstEndpoint) { $InterfaceIndex = 7 }
    $found = @($all | Where-Object {
            (-not $IPAddress -or $_.IPAddress -eq $IPAddress) -and
            (-not $InterfaceIndex -or $_.InterfaceIndex -eq $InterfaceIndex) -and
            (-not $AddressState -or $_.AddressState -eq $AddressState)
        })
    if (-not $found) { return Write-Error 'No matching MSFT_NetIPAddress objects found' -ErrorId $NotFoundId }
    $found | ForEach-Object { [pscustomobject] $_ }
}

# Return the source address of packets to the cloud; send nothing.
function Get-SourceAddress {
    $probe = [Net.Sockets.Socket]::new('InterNetwork', 'Dgram', 'Udp')
    try {
        $probe.Connect('169.254.169.254', 80)
        $probe.LocalEndPoint.Address.ToString()
    }
    finally { $probe.Dispose() }
}

# Return the key of an interface's forwarding in the state; an endpoint's forwarding ends with the endpoint.
function Get-InterfaceKey([uint32] $InterfaceIndex) {
    if ($InterfaceIndex -lt $FirstEndpoint) { return "index $InterfaceIndex" }
    Get-InterfaceEndpoint $InterfaceIndex | ForEach-Object { $_.id }
}

function Get-NetIPInterface {
    [CmdletBinding()]
    param([uint32] $InterfaceIndex, [ValidateSet('IPv4', 'IPv6')] [string] $AddressFamily)
    $broken = Get-WmiError 'Get-NetIPInterface'
    if ($broken) { return Write-Error $broken -ErrorId $WmiErrorId }
    $key = Get-InterfaceKey $InterfaceIndex
    if (-not $key) {
        return Write-Error "No MSFT_NetIPInterface objects found with '$InterfaceIndex'" -ErrorId $NotFoundId
    }
    $kept = (Get-Kept 'forwarding')[$key]
    [pscustomobject] @{ Forwarding = if ($kept) { $kept } else { 'Disabled' }; NlMtu = 9001 }
}

function Set-NetIPInterface {
    [CmdletBinding()]
    param(
        [uint32] $InterfaceIndex, [ValidateSet('IPv4', 'IPv6')] [string] $AddressFamily,
        [ValidateSet('Enabled', 'Disabled')] [string] $Forwarding
    )
    $key = Get-InterfaceKey $InterfaceIndex
    if (-not $key) { return Write-Error "No MSFT_NetIPInterface objects found with '$InterfaceIndex'" }
    Write-Asked 'Set-NetIPInterface' $PSBoundParameters
    # flannel-io/flannel#1858: it fails although the interface exists
    if ((Get-Kept 'unforwardable').cmdlet) { return Write-Error 'Element not found.' }
    Set-Forwarding $key $Forwarding
}

function Set-Forwarding([string] $Key, [string] $Forwarding) {
    $kept = Get-Kept 'forwarding'
    $kept[$Key] = $Forwarding
    Set-Kept 'forwarding' $kept
}

# Return whether routes are still missing because of a new virtual switch: for so many queries, or always (below 0).
function Test-Away {
    $made, $away = (Get-HnsState).made, (Get-Kept 'away')
    if ([int] $away.made -ne $made) {
        $away = @{ made = $made; left = [int] (Get-Kept 'outage').polls }
        Set-Kept 'away' $away
    }
    if (-not $away.left) { return $false }
    Set-Kept 'away' @{ made = $made; left = $away.left - [int] ($away.left -gt 0) }
    $true
}

# Return services of Windows by the name of their program. The time limit is mandatory here, because without it a real query waits for ever if WMI hangs.
function Get-CimInstance {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [string] $ClassName, [string] $Filter,
        [Parameter(Mandatory)] [ValidateRange(1, 600)] [uint32] $OperationTimeoutSec
    )
    if ($ClassName -ne 'Win32_Service' -or $Filter -notmatch "^Name='([\w-]+)'$") { throw 'Invalid class or query' }
    $broken = Get-WmiError 'Get-CimInstance'
    if ($broken) { return Write-Error $broken -ErrorId $WmiErrorId }
    $process = Get-Process -Name $Matches[1] -ErrorAction Ignore | Select-Object -First 1
    [pscustomobject] @{ Name = $Matches[1]; ProcessId = if ($process) { $process.Id } else { 0 } }
}
