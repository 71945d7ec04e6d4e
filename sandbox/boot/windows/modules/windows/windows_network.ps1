# Stand-ins for NetSecurity and NetTCPIP; windows.psm1 keeps their state.

function Get-NetFirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    $kept = Get-Kept 'rules'
    if ($kept.ContainsKey($Name)) { [pscustomobject] $kept[$Name] }
}

function Get-NetFirewallPortFilter {
    [CmdletBinding()]
    param([Parameter(ValueFromPipeline)] $AssociatedNetFirewallRule)
    process {
        [pscustomobject] @{
            Protocol = $AssociatedNetFirewallRule.Protocol; LocalPort = $AssociatedNetFirewallRule.LocalPort
        }
    }
}

# Return ranges with a mask, as Windows shows them.
function Get-NetFirewallAddressFilter {
    [CmdletBinding()]
    param([Parameter(ValueFromPipeline)] $AssociatedNetFirewallRule)
    process {
        $shown = @($AssociatedNetFirewallRule.RemoteAddress | Where-Object { $_ } | ForEach-Object {
                $address, $bits = $_.Split('/')
                if (-not $bits -or $bits -eq '32') { $address }
                else {
                    $mask = [uint32] (([uint64] 4294967295 -shl (32 - $bits)) -band 4294967295)
                    $octets = [BitConverter]::GetBytes($mask)
                    [Array]::Reverse($octets)
                    "$address/$($octets -join '.')"
                }
            })
        [pscustomobject] @{ RemoteAddress = if ($shown) { $shown } else { 'Any' } }
    }
}

function Remove-NetFirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    $kept = Get-Kept 'rules'
    $kept.Remove($Name)
    Set-Kept 'rules' $kept
}

function New-NetFirewallRule {
    [CmdletBinding()]
    param(
        [string] $Name, [string] $DisplayName,
        [ValidateSet('Inbound', 'Outbound')] [string] $Direction, [ValidateSet('Allow', 'Block')] [string] $Action,
        [ValidateSet('TCP', 'UDP')] [string] $Protocol, [string[]] $LocalPort, [string[]] $RemoteAddress
    )
    $kept = Get-Kept 'rules'
    if ($kept.ContainsKey($Name)) { return Write-Error 'Cannot create a file when that file already exists.' }
    $kept[$Name] = $PSBoundParameters + @{ Enabled = 'True' }
    Set-Kept 'rules' $kept
}

function Get-NetRoute {
    [CmdletBinding()]
    param([string] $DestinationPrefix, [uint32] $InterfaceIndex)
    $broken = Get-WmiError 'Get-NetRoute'
    if ($broken) { return Write-Error $broken -ErrorId $WmiErrorId }
    $none = @{ Message = "No MSFT_NetRoute objects found with '$DestinationPrefix'"; ErrorId = $NotFoundId }
    if (Test-Away) { return Write-Error @none }
    $default = @{ DestinationPrefix = '0.0.0.0/0'; InterfaceIndex = 7; NextHop = '10.20.0.1' }
    if ($DestinationPrefix -like '*/32') { Remove-LostRoute $DestinationPrefix }
    $kept = Get-Kept 'routes'
    $routes = @(Get-EndpointRoute) + @($kept.Values) + @(if (-not $kept.ContainsKey('0.0.0.0/0')) { $default })
    $found = @($routes | Where-Object {
            $_ -and $_.DestinationPrefix -eq $DestinationPrefix -and
            (-not $InterfaceIndex -or $_.InterfaceIndex -eq $InterfaceIndex)
        })
    if (-not $found) { return Write-Error @none }
    foreach ($route in $found) {
        $shown = @{ RouteMetric = 0; InterfaceMetric = 15 }
        foreach ($name in $route.Keys) { $shown[$name] = $route[$name] }
        [pscustomobject] $shown
    }
}

# Remove a route some queries after HNS created a network, as the state "loss" says.
function Remove-LostRoute([string] $Prefix) {
    $made, $losing = (Get-HnsState).made, (Get-Kept 'losing')
    if ([int] $losing.made -ne $made) { $losing = @{ made = $made; left = [int] (Get-Kept 'loss').polls } }
    if (-not $losing.left) { return }
    Set-Kept 'losing' @{ made = $made; left = $losing.left - 1 }
    if ($losing.left -ne 1) { return }
    $kept = Get-Kept 'routes'
    $kept.Remove($Prefix)
    Set-Kept 'routes' $kept
}

# Return the routes of the host to subnets of attached endpoints, and default routes unless the gateway is 0.0.0.0 or the
# state "removed" has the endpoint.
function Get-EndpointRoute {
    $index = $FirstEndpoint
    foreach ($endpoint in Get-HostEndpoint) {
        @{ DestinationPrefix = $endpoint.subnet; InterfaceIndex = $index; NextHop = '0.0.0.0'; RouteMetric = 256 }
        if ($endpoint.gateway -and -not (Get-Kept 'removed').ContainsKey($endpoint.id)) {
            @{ DestinationPrefix = '0.0.0.0/0'; InterfaceIndex = $index; NextHop = $endpoint.gateway }
        }
        $index++
    }
}

# Return whether two routes are one to Windows.
function Test-SameRoute($One, $Other) {
    if (-not $One) { return $false }
    $same = foreach ($name in 'DestinationPrefix', 'InterfaceIndex', 'NextHop') { $One.$name -eq $Other.$name }
    $same -notcontains $false
}

function Remove-NetRoute {
    [CmdletBinding(SupportsShouldProcess)]
    param([Parameter(ValueFromPipeline)] $InputObject)
    process {
        $endpoint = Get-InterfaceEndpoint $InputObject.InterfaceIndex
        if ($endpoint -and $InputObject.DestinationPrefix -eq '0.0.0.0/0') {
            return Set-Kept 'removed' ((Get-Kept 'removed') + @{ $endpoint.id = 'default' })
        }
        $kept = Get-Kept 'routes'
        $same = @($kept.Keys | Where-Object { Test-SameRoute $kept[$_] $InputObject })
        foreach ($key in $same) { $kept.Remove($key) }
        Set-Kept 'routes' $kept
    }
}

function New-NetRoute {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [string] $DestinationPrefix, [Parameter(Mandatory)] [uint32] $InterfaceIndex,
        [string] $NextHop, [ValidateSet('ActiveStore', 'PersistentStore')] [string] $PolicyStore,
        [uint16] $RouteMetric
    )
    $kept = Get-Kept 'routes'
    $new = @{
        DestinationPrefix = $DestinationPrefix; InterfaceIndex = $InterfaceIndex; NextHop = $NextHop
        PolicyStore = $PolicyStore
    }
    if ($RouteMetric) { $new['RouteMetric'] = $RouteMetric }
    if ($kept.Values | Where-Object { Test-SameRoute $_ $new }) {
        return Write-Error 'Instance MSFT_NetRoute already exists'
    }
    $taken = $kept.ContainsKey($DestinationPrefix)
    $kept[$(if ($taken) { "$DestinationPrefix on $InterfaceIndex" } else { $DestinationPrefix })] = $new
    Set-Kept 'routes' $kept
}
