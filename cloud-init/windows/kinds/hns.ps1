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
# What HNS says to a request. Where the module hns (microsoft/SDN) is loaded its function asks, else HNS is called.
# Get-Command would look through all modules of the machine for that function, each time.
function Send-HnsRequest {
    [CmdletBinding()]
    param([string] $Method, [string] $Type, [string] $Id = '', [string] $Action = '', $Body)
    $data = if ($null -ne $Body) { ConvertTo-JsonText $Body } else { '' }
    if (Test-Path 'Function:\Invoke-HnsRequest') {
        $words = @{ Method = $Method; Type = $Type }
        if ($Id) { $words['Id'] = [Guid] $Id }
        if ($Action) { $words['Action'] = $Action }
        if ($data) { $words['Data'] = $data }
        return Invoke-HnsRequest @words | Where-Object { $null -ne $_ }
    }
    $path = (@('', $Type, $Id, $Action) | Where-Object { $_ -or $_ -eq '' }) -join '/'
    $said = ''
    $code = (Get-HnsType)::HNSCall($Method, $path.TrimEnd('/'), $data, [ref] $said)
    $answer = if ($said) { ConvertFrom-Json $said }
    if ($code -ne 0 -or ($answer -and -not $answer.Success)) {
        throw (New-Failure 'network-missing' "HNS refuses $Method $path with ${code}: $said")
    }
    if ($answer -and $answer.PSObject.Properties['Output']) { @($answer.Output) | Where-Object { $null -ne $_ } }
}

# .SYNOPSIS
# The one network or endpoint of that name, or nothing.
function Get-HnsObject {
    [CmdletBinding()]
    param([string] $Type, [string] $Name)
    Send-HnsRequest 'GET' $Type | Where-Object { $_.Name -eq $Name } | Select-Object -First 1
}

# .SYNOPSIS
# Removes all load balancers of kube-proxy, which makes them anew: HNS keeps a network that one of them uses.
function Remove-HnsPolicyList {
    [CmdletBinding()]
    param()
    foreach ($each in @(Send-HnsRequest 'GET' 'policylists')) {
        if ($each) { [void](Send-HnsRequest 'DELETE' 'policylists' -Id $each.ID) }
    }
}

# .SYNOPSIS
# Removes a network, with all that would hold it.
function Remove-HnsNetwork {
    [CmdletBinding()]
    param($Network)
    Remove-HnsPolicyList
    [void](Send-HnsRequest 'DELETE' 'networks' -Id $Network.ID)
}

# .SYNOPSIS
# An address of the range: the first is the gateway, the second the host's in a bridge (win-bridge routes through it).
function Get-RangeAddress {
    [CmdletBinding()]
    param([string] $Subnet, [int] $Place)
    $octets = $Subnet.Split('/')[0].Split('.')
    ($octets[0..2] + ([int] $octets[3] + $Place)) -join '.'
}

# .SYNOPSIS
# Whether the network is the planned one.
function Test-Bridge {
    [CmdletBinding()]
    param($Network, $Step)
    if (-not $Network -or $Network.Type -ne 'L2Bridge') { return $false }
    (Test-NetworkRange $Network $Step['subnet']) -and
    @($Network.Subnets)[0].GatewayAddress -eq (Get-RangeAddress $Step['subnet'] 1)
}

# .SYNOPSIS
# Whether the endpoint is there, belongs to the host, and the host forwards between it and the management adapter.
function Test-HnsEndpoint {
    [CmdletBinding()]
    param($Network, $Step)
    $endpoint = Get-HnsObject 'endpoints' $Step['endpoint']
    if (-not $endpoint -or $endpoint.VirtualNetwork -ne $Network.ID) { return $false }
    if ($endpoint.IPAddress -ne (Get-RangeAddress $Step['subnet'] 2)) { return $false }
    if (-not $endpoint.PSObject.Properties['SharedContainers'] -or -not @($endpoint.SharedContainers)) { return $false }
    foreach ($adapter in Get-BridgeAdapter $Step) {
        $found = Get-NetIPInterface @adapter -AddressFamily IPv4 -ErrorAction Ignore
        if (-not $found -or "$($found.Forwarding)" -ne 'Enabled') { return $false }
    }
    $true
}

# .SYNOPSIS
# The two adapters that packets of pods pass, in the words of the NetTCPIP cmdlets.
function Get-BridgeAdapter {
    [CmdletBinding()]
    param($Step)
    @{ InterfaceAlias = "vEthernet ($($Step['endpoint']))" }
    @{ InterfaceIndex = (Get-DefaultRoute).InterfaceIndex }
}

# .SYNOPSIS
# Whether network and endpoint are as wanted.
function Test-HnsNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    $network = Get-HnsObject 'networks' $Step['network']
    (Test-Bridge $network $Step) -and (Test-HnsEndpoint $network $Step)
}

# .SYNOPSIS
# Makes the network. The first one takes the address from the adapter for some seconds; it must come back.
function New-PlannedNetwork {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $address = Get-OwnAddress
    $subnet = @{ AddressPrefix = $Step['subnet']; GatewayAddress = Get-RangeAddress $Step['subnet'] 1 }
    $network = @{ Name = $Step['network']; Type = 'L2Bridge'; Subnets = @(, $subnet) }
    [void](Send-HnsRequest 'POST' 'networks' -Body $network)
    while ($gone = Get-AddressProblem $address) {
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            throw (New-Failure 'network-missing' "$gone after $($Step['network']) was made")
        }
        Start-Sleep -Milliseconds 500
    }
}

# .SYNOPSIS
# What of the machine's own way is missing while a virtual switch takes the adapter over; nothing when it is back.
function Get-AddressProblem {
    [CmdletBinding()]
    param([string] $Address)
    try {
        [void](Test-Address $Address)
        [void](Get-DefaultRoute)
    }
    catch { "$Address did not come back: $($_.Exception.GetBaseException().Message)" }
}

# .SYNOPSIS
# Makes the host's endpoint, attaches it, and lets the host forward between it and the management adapter.
function New-PlannedEndpoint {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $old = Get-HnsObject 'endpoints' $Step['endpoint']
    if ($old) { [void](Send-HnsRequest 'DELETE' 'endpoints' -Id $old.ID) }
    $network = Get-HnsObject 'networks' $Step['network']
    $address = Get-RangeAddress $Step['subnet'] 2
    $endpoint = @{ Name = $Step['endpoint']; VirtualNetwork = $network.ID; IPAddress = $address }
    $made = Send-HnsRequest 'POST' 'endpoints' -Body $endpoint
    $where = @{ SystemType = 'Host'; CompartmentId = $HostCompartment }
    [void](Send-HnsRequest 'POST' 'endpoints' -Id $made.ID -Action 'attach' -Body $where)
    foreach ($adapter in Get-BridgeAdapter $Step) {
        Set-NetIPInterface @adapter -AddressFamily IPv4 -Forwarding Enabled
    }
}

# .SYNOPSIS
# Makes what differs anew.
function Set-HnsNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    $network = Get-HnsObject 'networks' $Step['network']
    if (-not (Test-Bridge $network $Step)) {
        if ($network) { Remove-HnsNetwork $network }
        New-PlannedNetwork $Run $Step
    }
    New-PlannedEndpoint $Run $Step
}
