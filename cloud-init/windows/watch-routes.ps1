# Watches the routes of the pod network to other nodes' pods; watch-network.ps1 uses these functions.

$RouteLooks = 5    # looks between two questions to the API for the other nodes' pod ranges

# .SYNOPSIS
# Return pod ranges of other nodes that flannel has announced with a router, for which the network has no route, or one
# to another router, also beside the right one: flanneld drops errors of HNS when it adds routes and when it removes old
# ones (flannel-io/flannel pkg/backend/vxlan/vxlan_network_windows.go). None if the API does not answer.
function Get-UnroutedRange {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $api = Get-PlannedStep $Run 'pod-range'
    $columns = '.metadata.name', '.spec.podCIDR', '.metadata.annotations.flannel\.alpha\.coreos\.com/backend-data'
    $named = @(0..2 | ForEach-Object { "C${_}:$($columns[$_])" }) -join ','
    $words = "--kubeconfig=$($api['kubeconfig'])", 'get', 'nodes', '--no-headers', "--output=custom-columns=$named"
    $said = Invoke-Kubectl $Run $api['kubectl'] $words
    $network = Get-HnsObject 'networks' $Step['network']
    $policies = if ($network.PSObject.Properties['Policies']) { $network.Policies }
    $routes = $policies | Where-Object { $_.PSObject.Properties['DestinationPrefix'] }
    # HNS writes MAC addresses with - or :; a route without one counts as correct
    $routed = @{}
    foreach ($route in $routes) {
        $mac = if ($route.PSObject.Properties['DistributedRouterMacAddress']) { $route.DistributedRouterMacAddress }
        $routed[$route.DestinationPrefix] = @($routed[$route.DestinationPrefix]) + ("$mac" -replace '[-:]')
    }
    foreach ($line in $said -split "`r?`n") {
        $name, $range, $backend = -split $line
        # a Windows node that has no network yet has announced no router
        if ($name -eq $api['node'] -or $backend -notmatch '"VtepMAC":"([0-9a-fA-F:]+)"') { continue }
        $router = $Matches[1] -replace ':'
        $old = @($routed[$range] | Where-Object { $_ -and $_ -ne $router })
        if (-not $routed.ContainsKey($range) -or $old) { $range }
    }
}

# .SYNOPSIS
# Return as text the routes that this question and the last one found missing; nothing if there are none.
function Get-RouteLoss {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, $Known)
    $looks = [int] $Known['looks']
    $Known['looks'] = $looks + 1
    if ($Step['kind'] -ne 'overlay-network' -or $looks % $RouteLooks) { return }
    $Run.Watch.Restart()
    $Run.Limit = $WatchLimit
    $before, $now = @($Known['unrouted']), @(Get-UnroutedRange $Run $Step)
    $Known['unrouted'] = $now
    $lost = @($now | Where-Object { $_ -in $before })
    if ($lost) { "the network $($Step['network']) has no route to pods of $($lost -join ', '), or an old one" }
}
