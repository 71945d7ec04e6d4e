# Networks of the Host Networking Service (HNS) for pods and load balancers.

$HostCompartment = 1    # network compartment of the host itself
# HCN_E_ENDPOINT_ALREADY_ATTACHED (winerror.h)
$AlreadyAttached = '0x803b0014|2151350292|already attached to the switch'
$FlannelStarts = 3    # maximum starts of flanneld within the step's timeout

# .SYNOPSIS
# Return an address of the range: 1 is the gateway, 2 the host's address in a bridge (win-bridge routes through it).
function Get-RangeAddress {
    [CmdletBinding()]
    param([string] $Subnet, [int] $Place)
    $octets = $Subnet.Split('/')[0].Split('.')
    ($octets[0..2] + ([int] $octets[3] + $Place)) -join '.'
}

# .SYNOPSIS
# Return whether the network is the planned L2Bridge.
function Test-Bridge {
    [CmdletBinding()]
    param($Network, $Step)
    if (-not $Network -or $Network.Type -ne 'L2Bridge') { return $false }
    $gateways = @(Get-NetworkSubnet $Network | ForEach-Object {
            if ($_.PSObject.Properties['GatewayAddress']) { $_.GatewayAddress }
        })
    (Test-NetworkRange $Network $Step['subnet']) -and $gateways -contains (Get-RangeAddress $Step['subnet'] 1)
}

# .SYNOPSIS
# Return the name of the adapter that HNS gives the host for an attached endpoint.
function Get-EndpointAlias {
    [CmdletBinding()]
    param($Step)
    "vEthernet ($($Step['endpoint']))"
}

# .SYNOPSIS
# Return whether the host has the endpoint: its adapter is up with the endpoint's address. HNS lists no container for an
# endpoint of the host (SharedContainers is empty), so the endpoint itself does not say whether it is attached.
function Test-EndpointAdapter {
    [CmdletBinding()]
    param($Step)
    $alias, $wanted = (Get-EndpointAlias $Step), (Get-RangeAddress $Step['subnet'] 2)
    $adapter = Get-NetAdapter -Name $alias -ErrorAction Ignore
    if (-not $adapter -or "$($adapter.Status)" -ne 'Up') { return $false }
    $addresses = Get-NetIPAddress -InterfaceAlias $alias -AddressFamily IPv4 -ErrorAction Ignore
    @($addresses | ForEach-Object { $_.IPAddress }) -contains $wanted
}

# .SYNOPSIS
# Return whether the endpoint exists, the host has it, and both adapters forward.
function Test-HnsEndpoint {
    [CmdletBinding()]
    param([hashtable] $Run, $Network, $Step)
    $endpoint = Get-HnsObject 'endpoints' $Step['endpoint']
    if (-not $endpoint -or $endpoint.VirtualNetwork -ne $Network.ID) { return $false }
    if ($endpoint.IPAddress -ne (Get-RangeAddress $Step['subnet'] 2)) { return $false }
    if (-not (Test-EndpointAdapter $Step)) { return $false }
    foreach ($adapter in Get-BridgeAdapter $Run $Step) {
        $found = Get-NetIPInterface @adapter -AddressFamily IPv4 -ErrorAction Ignore
        if (-not $found -or "$($found.Forwarding)" -ne 'Enabled') { return $false }
    }
    $true
}

# .SYNOPSIS
# Return parameters of NetTCPIP cmdlets for the two adapters that pods' packets pass: endpoint and management adapter.
function Get-BridgeAdapter {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    @{ InterfaceAlias = Get-EndpointAlias $Step }
    @{ InterfaceIndex = (Get-DefaultRoute $Run).InterfaceIndex }
}

# .SYNOPSIS
# Return whether network and endpoint are as planned.
function Test-HnsNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    $network = Get-HnsObject 'networks' $Step['network']
    (Test-Bridge $network $Step) -and (Test-HnsEndpoint $Run $network $Step)
}

# .SYNOPSIS
# Return the name of the adapter that has the default route, and so the machine's address.
function Get-RouteAdapter {
    [CmdletBinding()]
    param([hashtable] $Run)
    @(Get-NetAdapter -InterfaceIndex (Get-DefaultRoute $Run).InterfaceIndex)[0].Name
}

# .SYNOPSIS
# Create the network. The first one takes the adapter's address away for some seconds; wait until it is back.
function New-PlannedNetwork {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $address = Get-OwnAddress $Run
    $subnet = @{ AddressPrefix = $Step['subnet']; GatewayAddress = Get-RangeAddress $Step['subnet'] 1 }
    $network = @{ Name = $Step['network']; Type = 'L2Bridge'; Subnets = @(, $subnet) }
    # Without a name HNS takes any adapter; it refuses that of a virtual switch (Azure/azure-container-networking
    # network/network_windows.go).
    $adapter = Get-RouteAdapter $Run
    if ($adapter -notlike 'vEthernet*') { $network['NetworkAdapterName'] = $adapter }
    [void](Send-HnsRequest 'POST' 'networks' -Body $network)
    $Run.Switched = [Diagnostics.Stopwatch]::StartNew()
    while ($gone = Get-AddressProblem $Run $address) {
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            throw (New-Failure 'network-missing' "$gone after $($Step['network']) was made")
        }
        Start-Sleep -Milliseconds 500
    }
}

# .SYNOPSIS
# Return which address or route is missing while a virtual switch takes over the adapter; nothing if none is.
function Get-AddressProblem {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Address)
    try {
        [void](Test-Address $Address)
        [void](Get-DefaultRoute $Run)
    }
    catch { "$Address did not come back: $($_.Exception.GetBaseException().Message)" }
}

# .SYNOPSIS
# Create the host's endpoint, attach it, and enable forwarding on both adapters.
function New-PlannedEndpoint {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $old = Get-HnsObject 'endpoints' $Step['endpoint']
    if ($old) { [void](Send-HnsRequest 'DELETE' 'endpoints' -Id $old.ID) }
    $network = Get-HnsObject 'networks' $Step['network']
    $address = Get-RangeAddress $Step['subnet'] 2
    # Without this gateway the host gets a second default route, through the pod range's first address.
    $endpoint = @{
        Name = $Step['endpoint']; VirtualNetwork = $network.ID; IPAddress = $address; GatewayAddress = '0.0.0.0'
    }
    $made = Send-HnsRequest 'POST' 'endpoints' -Body $endpoint
    Join-HostEndpoint $made.ID
    while (-not (Test-EndpointAdapter $Step)) {
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            throw (New-Failure 'network-missing' "$(Get-EndpointAlias $Step) is not up with $address")
        }
        Start-Sleep -Milliseconds 500
    }
    foreach ($adapter in Get-BridgeAdapter $Run $Step) {
        Set-NetIPInterface @adapter -AddressFamily IPv4 -Forwarding Enabled
    }
}

# .SYNOPSIS
# Attach an endpoint to the host. HNS can attach it and still refuse the request, because it is attached (flannel issue
# 1391); the text of that error is localized, so its number counts too.
function Join-HostEndpoint {
    [CmdletBinding()]
    param([string] $Id)
    $where = @{ SystemType = 'Host'; CompartmentId = $HostCompartment }
    try { [void](Send-HnsRequest 'POST' 'endpoints' -Id $Id -Action 'attach' -Body $where) }
    catch { if ($_.Exception.Message -notmatch $AlreadyAttached) { throw } }
}

# .SYNOPSIS
# Replace the network if it differs, then the endpoint.
function Set-HnsNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    $network = Get-HnsObject 'networks' $Step['network']
    if (-not (Test-Bridge $network $Step)) {
        if ($network) { Remove-HnsNetwork $Run $network }
        New-PlannedNetwork $Run $Step
    }
    New-PlannedEndpoint $Run $Step
}

# .SYNOPSIS
# Return the first value in flanneld's file that does not match this node, as text; nothing if all match (OPS-06).
function Get-SubnetFileProblem {
    [CmdletBinding()]
    param($Step)
    $path = $Step['subnet_file']
    if (-not [IO.File]::Exists($path)) { return "$path is not there" }
    $values = @{}
    foreach ($line in [IO.File]::ReadAllLines($path)) {
        $values[$line.Split('=')[0]] = $line.Substring($line.IndexOf('=') + 1)
    }
    # flanneld takes the MTU of the adapter minus 50 bytes of VXLAN; virtual adapters may have another.
    $rows = @(
        , @('FLANNEL_NETWORK', [regex]::Escape($Step['pods']))
        , @('FLANNEL_SUBNET', '[0-9.]+/\d+')
        , @('FLANNEL_MTU', '\d+')
        , @('FLANNEL_IPMASQ', 'false')    # the CNI file has the only OutBoundNAT policy
    )
    foreach ($row in $rows) {
        if ("$($values[$row[0]])" -notmatch "\A$($row[1])\z") { return "$path has $($row[0])=$($values[$row[0]])" }
    }
    $range = Get-FlannelRange $path
    if ($range -ne $Step['subnet']) { "$path has the range $range, the Node object $($Step['subnet'])" }
}

# .SYNOPSIS
# Return the first problem as error name and text; nothing if there is none.
function Get-OverlayProblem {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $name = $Step['network']
    $network = Get-HnsObject 'networks' $name
    $adapters = @(Get-NetAdapter | ForEach-Object { $_.Name })
    if (-not ($adapters -like 'vEthernet (*')) {
        return 'adapter-missing', "no virtual network: there is no adapter vEthernet, only $($adapters -join ', ')"
    }
    if (-not $network) { return 'overlay-missing', "HNS has no network $name" }
    if ($network.Type -ne 'Overlay' -or -not (Test-NetworkRange $network $Step['subnet'])) {
        $ranges = @(Get-NetworkSubnet $network | ForEach-Object { $_.AddressPrefix }) -join ', '
        return 'overlay-missing', "HNS network $name is $($network.Type) of $ranges, not Overlay of $($Step['subnet'])"
    }
    foreach ($problem in (Get-SubnetFileProblem $Step), (Get-AddressProblem $Run $Step['address'])) {
        if ($problem) { return 'overlay-missing', $problem }
    }
}

# .SYNOPSIS
# Return whether flanneld has set up its network and the machine's address is back. If this run started flanneld, the
# network is new.
function Test-OverlayNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    if (Get-OverlayProblem $Run $Step) { return $false }
    if ($Run.Started[$Step['service']]) { $Run.Switched = [Diagnostics.Stopwatch]::StartNew() }
    $true
}

# .SYNOPSIS
# Return the adapter of a virtual switch that has the machine's address although HNS lists no network on it; nothing if
# there is none. flanneld would name this adapter to HNS, which refuses it with 0x57 (flannel-io/flannel#1966,
# antrea-io/antrea#2213, Azure/azure-container-networking network/network_windows.go).
function Get-LeftSwitch {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    if (Get-AddressProblem $Run $Step['address']) { return }
    if (Send-HnsRequest 'GET' 'networks' | Where-Object { $_.Type -notin 'NAT', 'ICS' }) { return }
    $adapter = Get-RouteAdapter $Run
    if ($adapter -like 'vEthernet*') { $adapter }
}

# .SYNOPSIS
# Start flanneld anew. Before its last start restart HNS if a virtual switch is left without a network: its start may
# remove the switch, which no source confirms.
function Restart-Flanneld {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, [int] $Start)
    Stop-PlannedService $Run $Step['service']
    $left = if ($Start -eq $FlannelStarts -and (Get-ServiceState 'hns')) { Get-LeftSwitch $Run $Step }
    if ($left) {
        Write-Said $Run "$left has the machine's address, but HNS has no network on it: HNS is started anew"
        Stop-PlannedService $Run 'hns'
        Start-PlannedService $Run 'hns'
    }
    Start-PlannedService $Run $Step['service']
}

# .SYNOPSIS
# Poll; restart a flanneld that hangs, after equal parts of the timeout (OPS-05).
function Set-OverlayNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    $looks = [Math]::Max(1, [int] ($Run.Limit / $PollSeconds / $FlannelStarts))
    foreach ($start in 1..$FlannelStarts) {
        if ($start -gt 1) {
            Write-Said $Run "$($problem[1]): $($Step['service']) is started anew"
            Restart-Flanneld $Run $Step $start
        }
        foreach ($look in 1..$looks) {
            $problem = Get-OverlayProblem $Run $Step
            if (-not $problem) { return }
            Start-Sleep -Seconds $PollSeconds
        }
    }
    throw (New-Failure $problem[0] "$($problem[1]), after $FlannelStarts starts of $($Step['service'])")
}
