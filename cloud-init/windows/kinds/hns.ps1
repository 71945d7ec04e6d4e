# Networks of the Host Networking Service (HNS) for pods and load balancers.

$HostCompartment = 1    # network compartment of the host itself
# HCN_E_ENDPOINT_ALREADY_ATTACHED (winerror.h)
$AlreadyAttached = '0x803b0014|2151350292|already attached to the switch'

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
