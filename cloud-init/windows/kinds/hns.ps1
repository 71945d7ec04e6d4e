# Networks of the host networking service (HNS), which pods and load balancers are attached to.

$HostCompartment = 1    # network compartment of the host itself

# .SYNOPSIS
# The type with HNS's one function: HNSCall(method, path, request) gives a JSON text.
function Get-HnsType {
    [CmdletBinding()]
    param()
    if ($script:HnsType) { return $script:HnsType }
    $words = [string], [string], [string], [string].MakeByRefType()
    $script:HnsType = New-NativeType 'Mullion.Hns' 'vmcompute.dll' @{ HNSCall = [int], $words }
    $script:HnsType
}
$HnsType = $null

# .SYNOPSIS
# What HNS says to a request. Machines with the module hns (microsoft/SDN) have a function for it, else it is called.
function Send-HnsRequest {
    [CmdletBinding()]
    param([string] $Method, [string] $Type, [string] $Id = '', [string] $Action = '', $Body)
    $data = if ($null -ne $Body) { ConvertTo-JsonText $Body } else { '' }
    if (Get-Command Invoke-HnsRequest -ErrorAction Ignore) {
        $words = @{ Method = $Method; Type = $Type }
        if ($Id) { $words['Id'] = [Guid] $Id }
        if ($Action) { $words['Action'] = $Action }
        if ($data) { $words['Data'] = $data }
        return Invoke-HnsRequest @words
    }
    $path = (@('', $Type, $Id, $Action) | Where-Object { $_ -or $_ -eq '' }) -join '/'
    $said = ''
    $code = (Get-HnsType)::HNSCall($Method, $path.TrimEnd('/'), $data, [ref] $said)
    $answer = if ($said) { ConvertFrom-Json $said }
    if ($code -ne 0 -or ($answer -and -not $answer.Success)) {
        throw (New-Failure 'network-missing' "HNS refuses $Method $path with ${code}: $said")
    }
    if ($answer -and $answer.PSObject.Properties['Output']) { $answer.Output }
}

# .SYNOPSIS
# The one network or endpoint of that name, or nothing.
function Get-HnsObject {
    [CmdletBinding()]
    param([string] $Type, [string] $Name)
    Send-HnsRequest 'GET' $Type | Where-Object { $_.Name -eq $Name } | Select-Object -First 1
}

# .SYNOPSIS
# Whether the network is the planned one.
function Test-HnsNetwork {
    [CmdletBinding()]
    param($Network, $Step)
    if (-not $Network -or $Network.Type -ne $Step['type'] -or @($Network.Subnets).Count -ne 1) { return $false }
    $subnet = @($Network.Subnets)[0]
    $vni = if ($subnet.PSObject.Properties['Policies']) {
        $subnet.Policies | Where-Object { $_.Type -eq 'VSID' } | ForEach-Object { $_.VSID }
    }
    $subnet.AddressPrefix -eq $Step['subnet'] -and $subnet.GatewayAddress -eq $Step['gateway'] -and
    $vni -eq $Step['vni']
}

# .SYNOPSIS
# Whether the endpoint is there and belongs to the host.
function Test-HnsEndpoint {
    [CmdletBinding()]
    param($Network, $Step)
    if (-not $Step['endpoint']) { return $true }
    $endpoint = Get-HnsObject 'endpoints' $Step['endpoint']
    if (-not $endpoint -or $endpoint.VirtualNetwork -ne $Network.ID) { return $false }
    $shared = if ($endpoint.PSObject.Properties['SharedContainers']) { @($endpoint.SharedContainers) }
    $endpoint.IPAddress -eq $Step['endpoint_address'] -and $shared
}

# .SYNOPSIS
# Whether network and endpoint are as wanted.
function Test-HnsNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    $network = Get-HnsObject 'networks' $Step['network']
    (Test-HnsNetwork $network $Step) -and (Test-HnsEndpoint $network $Step)
}

# .SYNOPSIS
# Makes the network. The first one takes the address from the adapter for some seconds; it must come back.
function New-PlannedNetwork {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $address = Get-OwnAddress
    $policies = @(if ($Step['vni']) { @{ Type = 'VSID'; VSID = $Step['vni'] } })
    $subnet = @{ AddressPrefix = $Step['subnet']; GatewayAddress = $Step['gateway']; Policies = $policies }
    $network = @{ Name = $Step['network']; Type = $Step['type']; Subnets = @(, $subnet) }
    [void](Send-HnsRequest 'POST' 'networks' -Body $network)
    for (; ; ) {
        try { if ((Get-OwnAddress) -eq $address) { return } } catch { [void] 'not yet' }
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            throw (New-Failure 'network-missing' "$address did not come back after $($Step['network']) was made")
        }
        Start-Sleep -Milliseconds 500
    }
}

# .SYNOPSIS
# Makes the host's endpoint, attaches it, and lets the host forward between it and the management adapter.
function New-PlannedEndpoint {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $old = Get-HnsObject 'endpoints' $Step['endpoint']
    if ($old) { [void](Send-HnsRequest 'DELETE' 'endpoints' -Id $old.ID) }
    $network = Get-HnsObject 'networks' $Step['network']
    $endpoint = @{ Name = $Step['endpoint']; VirtualNetwork = $network.ID; IPAddress = $Step['endpoint_address'] }
    $made = Send-HnsRequest 'POST' 'endpoints' -Body $endpoint
    $where = @{ SystemType = 'Host'; CompartmentId = $HostCompartment }
    [void](Send-HnsRequest 'POST' 'endpoints' -Id $made.ID -Action 'attach' -Body $where)
    Set-NetIPInterface -InterfaceAlias "vEthernet ($($Step['endpoint']))" -AddressFamily IPv4 -Forwarding Enabled
    $management = (Get-DefaultRoute).InterfaceIndex
    Set-NetIPInterface -InterfaceIndex $management -AddressFamily IPv4 -Forwarding Enabled
}

# .SYNOPSIS
# Makes what differs anew.
function Set-HnsNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    $network = Get-HnsObject 'networks' $Step['network']
    if (-not (Test-HnsNetwork $network $Step)) {
        if ($network) { [void](Send-HnsRequest 'DELETE' 'networks' -Id $network.ID) }
        New-PlannedNetwork $Run $Step
    }
    if ($Step['endpoint']) { New-PlannedEndpoint $Run $Step }
}
