# Networks of the Host Networking Service (HNS) for pods and load balancers.

$HostCompartment = 1    # network compartment of the host itself
$AttachSeconds = 10    # flannel waits for 5 (pkg/backend/hostgw/hostgw_windows.go)
# above that of the endpoint's own route (256); microsoft/windows-container-networking, networksetup/networkDeploy.ps1
$PodRouteMetric = 400
# HCN_E_NETWORK_ALREADY_EXISTS (winerror.h); a restart of HNS is what microsoft/hcsshim#850 advises
$NetworkExists = '0x803b0010|2151350288'
# HCN_E_ENDPOINT_ALREADY_ATTACHED (winerror.h)
$AlreadyAttached = '0x803b0014|2151350292|already attached to the switch'

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
# Return the interface of the host's endpoint: the one that is up and has its address, which no other machine has
# (Preferred; Tentative until Windows knows); nothing if there is none. HNS lists no container for an endpoint of the
# host (SharedContainers is empty), so the endpoint does not say whether it is attached. Windows appends a number to the
# adapter's name if the name is taken (microsoft/Windows-Containers#61).
function Get-EndpointInterface {
    [CmdletBinding()]
    param($Step)
    $address = Get-RangeAddress $Step['subnet'] 2
    $holders = @(Find-NetObject { Get-NetIPAddress -IPAddress $address -AddressState Preferred -ErrorAction Stop })
    foreach ($found in $holders) {
        $adapter = Find-NetObject { Get-NetAdapter -InterfaceIndex $found.InterfaceIndex -ErrorAction Stop }
        if ($adapter -and "$(@($adapter)[0].Status)" -eq 'Up') { return $found.InterfaceIndex }
    }
}

# .SYNOPSIS
# Return the interface of the planned endpoint; nothing if HNS or the host has no such endpoint.
function Get-PlannedInterface {
    [CmdletBinding()]
    param($Network, $Step)
    $endpoint = Get-HnsObject 'endpoints' $Step['endpoint']
    if (-not $endpoint -or $endpoint.VirtualNetwork -ne $Network.ID) { return }
    if ($endpoint.IPAddress -eq (Get-RangeAddress $Step['subnet'] 2)) { Get-EndpointInterface $Step }
}

# .SYNOPSIS
# Return the default routes of the host's endpoint; nothing if there is none, as planned.
function Get-EndpointDefault {
    [CmdletBinding()]
    param([uint32] $Interface)
    $own = @{ DestinationPrefix = '0.0.0.0/0'; InterfaceIndex = $Interface }
    Find-NetObject { Get-NetRoute @own -ErrorAction Stop }
}

# .SYNOPSIS
# Return whether the endpoint exists without a default route, the host has it, and both adapters forward.
function Test-HnsEndpoint {
    [CmdletBinding()]
    param([hashtable] $Run, $Network, $Step)
    $interface = Get-PlannedInterface $Network $Step
    if (-not $interface -or (Get-EndpointDefault $interface)) { return $false }
    foreach ($index in $interface, (Get-DefaultRoute $Run).InterfaceIndex) {
        if (-not (Test-Forwarding $index)) { return $false }
    }
    $true
}

# .SYNOPSIS
# Return whether the interface of the default route has a route of its own to the pod range.
function Test-PodRoute {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $index = (Get-DefaultRoute $Run).InterfaceIndex
    $own = @{ DestinationPrefix = $Step['subnet']; InterfaceIndex = $index }
    $routes = @(Find-NetObject { Get-NetRoute @own -ErrorAction Stop })
    [bool] ($routes | Where-Object { $_.NextHop -eq '0.0.0.0' })
}

# .SYNOPSIS
# Route the pod range through the interface of the default route. Without direct server return answers from other nodes
# get the Service's address as their source there, and would leave the machine again (Kubernetes, k8s-node-setup.psm1).
function Set-PodRoute {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    if (Test-PodRoute $Run $Step) { return }
    $new = @{ DestinationPrefix = $Step['subnet']; NextHop = '0.0.0.0'; RouteMetric = $PodRouteMetric }
    [void](New-NetRoute @new -InterfaceIndex (Get-DefaultRoute $Run).InterfaceIndex -PolicyStore ActiveStore)
}

# .SYNOPSIS
# Return whether network, endpoint and the route to the pod range are as planned.
function Test-HnsNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    $network = Get-HnsObject 'networks' $Step['network']
    (Test-Bridge $network $Step) -and (Test-HnsEndpoint $Run $network $Step) -and (Test-PodRoute $Run $Step)
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
    $address = Wait-OwnAddress $Run
    $subnet = @{ AddressPrefix = $Step['subnet']; GatewayAddress = Get-RangeAddress $Step['subnet'] 1 }
    $network = @{ Name = $Step['network']; Type = 'L2Bridge'; Subnets = @(, $subnet) }
    # Without a name HNS takes any adapter; it refuses that of a virtual switch (Azure/azure-container-networking
    # network/network_windows.go).
    $adapter = Get-RouteAdapter $Run
    if ($adapter -notlike 'vEthernet*') { $network['NetworkAdapterName'] = $adapter }
    try { [void](Send-HnsRequest 'POST' 'networks' -Body $network) }
    catch {
        if ($_.Exception.Data['hns-silent']) { throw }
        $bridges = @(Send-HnsRequest 'GET' 'networks' | Where-Object { $_.Type -eq 'L2Bridge' })
        if ($_.Exception.Message -notmatch $NetworkExists -or $bridges.Count) { throw }
        $why = "HNS refuses the network $($Step['network']) as a second one, but lists no bridge"
        if (-not (Restart-Hns $Run $why)) { throw }
        [void](Send-HnsRequest 'POST' 'networks' -Body $network)
    }
    $Run.Switched = [Diagnostics.Stopwatch]::StartNew()
    while ($gone = Get-AddressProblem $Run $address) {
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            throw (New-Failure 'network-missing' "$gone after $($Step['network']) was made")
        }
        Start-Sleep -Milliseconds 500
    }
}

# .SYNOPSIS
# Return the machine's address; wait until it has one, because a network that was removed just now took it away.
function Wait-OwnAddress {
    [CmdletBinding()]
    param([hashtable] $Run)
    for (; ; ) {
        try { return Get-OwnAddress $Run }
        catch { if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) { throw } }
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
# Create the host's endpoint and attach it; wait until its interface is up.
function New-PlannedEndpoint {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $old = Get-HnsObject 'endpoints' $Step['endpoint']
    if ($old) { [void](Send-HnsRequest 'DELETE' 'endpoints' -Id $old.ID) }
    $network = Get-HnsObject 'networks' $Step['network']
    $address = Get-RangeAddress $Step['subnet'] 2
    # without this gateway the host gets a default route through the pod range, which Set-HnsNetworkStep removes
    $endpoint = @{ Name = $Step['endpoint']; VirtualNetwork = $network.ID; IPAddress = $address }
    $endpoint['GatewayAddress'] = '0.0.0.0'
    try { $made = Send-HnsRequest 'POST' 'endpoints' -Body $endpoint }
    catch {
        # no source shows that Windows Server 2025 accepts 0.0.0.0
        if ($_.Exception.Data['hns-silent']) { throw }
        Write-Said $Run "$($_.Exception.GetBaseException().Message): $($Step['endpoint']) is made without a gateway"
        $endpoint.Remove('GatewayAddress')
        $made = Send-HnsRequest 'POST' 'endpoints' -Body $endpoint
    }
    Join-HostEndpoint $made.ID
    while (-not (Get-EndpointInterface $Step)) {
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            throw (New-Failure 'network-missing' "no adapter of $($Step['endpoint']) is up with $address")
        }
        Start-Sleep -Milliseconds 500
    }
}

# .SYNOPSIS
# Attach an endpoint to the host; repeat that for $AttachSeconds, because HNS refuses it while the network comes up
# (flannel-io/flannel#1112). HNS can attach it and still refuse the request, because it is attached (flannel issue
# 1391); the text of that error is localized, so its number counts too.
function Join-HostEndpoint {
    [CmdletBinding()]
    param([string] $Id)
    $where = @{ SystemType = 'Host'; CompartmentId = $HostCompartment }
    $watch = [Diagnostics.Stopwatch]::StartNew()
    for (; ; ) {
        try { return [void](Send-HnsRequest 'POST' 'endpoints' -Id $Id -Action 'attach' -Body $where) }
        catch {
            if ($_.Exception.Message -match $AlreadyAttached) { return }
            if ($watch.Elapsed.TotalSeconds -gt $AttachSeconds) { throw }
        }
        Start-Sleep -Milliseconds 500
    }
}

# .SYNOPSIS
# Replace the network if it differs, then the endpoint if it does: pods send through it. Remove a default route of the
# endpoint, enable forwarding on both adapters, and set the route to the pod range.
function Set-HnsNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    $network = Get-HnsObject 'networks' $Step['network']
    if (-not (Test-Bridge $network $Step)) {
        if ($network) { Remove-HnsNetwork $Run $network }
        New-PlannedNetwork $Run $Step
        $network = Get-HnsObject 'networks' $Step['network']
    }
    if (-not (Get-PlannedInterface $network $Step)) { New-PlannedEndpoint $Run $Step }
    Get-EndpointDefault (Get-EndpointInterface $Step) | Remove-NetRoute -Confirm:$false -ErrorAction Stop
    foreach ($index in (Get-EndpointInterface $Step), (Get-DefaultRoute $Run).InterfaceIndex) {
        Enable-Forwarding $Run $index
    }
    Set-PodRoute $Run $Step
}
