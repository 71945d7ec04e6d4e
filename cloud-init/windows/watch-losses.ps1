# What the network watch (watch-network.ps1) looks for. Each function returns the loss as text and its subject, or
# nothing.

$RouteLooks = 5    # looks between two questions to the API for the other nodes' pod ranges
$BalancerLooks = 10    # looks between two questions to the API for the Service kubernetes
$QuestionSeconds = 60    # for one question to the API

# .SYNOPSIS
# HNS runs in another process than before, or the network is gone. A restart of HNS loses pods' endpoints
# (projectcalico/calico#5164), and it loses (Azure/AgentBaker#2085) or restores (kubernetes/kubernetes#139519) load
# balancers and networks.
function Get-NetworkLoss {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, $Record)
    $before, $now = $Record['process'], (Get-HnsProcess)
    # WMI that does not answer says nothing about HNS
    if ($null -ne $now) {
        if ($before -and $before -ne $now) { return "HNS was restarted (process $before, now '$now')" }
        $Record['process'] = $now
    }
    if (-not (Test-PodNetwork $Run $Step)) { "the network $($Step['network']) is gone or incomplete" }
}

# .SYNOPSIS
# Return pod ranges of other nodes that flannel has announced with a router, for which the network has no route, or one
# to another router, also beside the right one: flanneld drops errors of HNS when it adds routes and when it removes old
# ones (flannel-io/flannel pkg/backend/vxlan/vxlan_network_windows.go). $null if the API does not answer.
function Get-UnroutedRange {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $api = Get-PlannedStep $Run 'pod-range'
    $columns = '.metadata.name', '.spec.podCIDR', '.metadata.annotations.flannel\.alpha\.coreos\.com/backend-data'
    $named = @(0..2 | ForEach-Object { "C${_}:$($columns[$_])" }) -join ','
    $words = "--kubeconfig=$($api['kubeconfig'])", 'get', 'nodes', '--no-headers', "--output=custom-columns=$named"
    $said = Invoke-Kubectl (New-TimedRun $Run $QuestionSeconds) $api['kubectl'] $words
    if (-not $said) { return $null }
    $network = Get-HnsObject 'networks' $Step['network']
    $policies = if ($network.PSObject.Properties['Policies']) { $network.Policies }
    $routes = $policies | Where-Object { $_.PSObject.Properties['DestinationPrefix'] }
    # HNS writes MAC addresses with - or :; a route without one counts as correct
    $routed = @{}
    foreach ($route in $routes) {
        $mac = if ($route.PSObject.Properties['DistributedRouterMacAddress']) { $route.DistributedRouterMacAddress }
        $routed[$route.DestinationPrefix] = @($routed[$route.DestinationPrefix]) + ("$mac" -replace '[-:]')
    }
    $unrouted = @(foreach ($line in $said -split "`r?`n") {
            $name, $range, $backend = -split $line
            # a Windows node that has no network yet has announced no router
            if ($name -eq $api['node'] -or $backend -notmatch '"VtepMAC":"([0-9a-fA-F:]+)"') { continue }
            $router = $Matches[1] -replace ':'
            $old = @($routed[$range] | Where-Object { $_ -and $_ -ne $router })
            if (-not $routed.ContainsKey($range) -or $old) { $range }
        })
    , $unrouted
}

# .SYNOPSIS
# Routes of flannel's network to other nodes' pods are missing or old at two questions. Their subject is the ranges.
function Get-RouteLoss {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, $Record)
    if ($Step['kind'] -ne 'overlay-network' -or $Record['looks'] % $RouteLooks) { return }
    $found = Get-UnroutedRange $Run $Step
    if ($null -eq $found) { return }
    $ranges = @(Get-Confirmed $Record 'routes' @($found | Sort-Object)) -join ', '
    Clear-Repair $Record 'routes' $ranges
    if ($ranges) { "the network $($Step['network']) has no route to pods of $ranges, or an old one", $ranges }
}

# .SYNOPSIS
# HNS has no load balancer of the Service kubernetes at two questions, although kube-proxy makes one as long as an API
# server answers: HNS can lose them without a restart, and kube-proxy does not make them again
# (kubernetes/kubernetes#135802).
function Get-BalancerLoss {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, $Record)
    if ($Record['looks'] % $BalancerLooks) { return }
    $api = Find-PlannedStep 'node-object'
    if (-not $api) { return }
    $words = "--kubeconfig=$($api['kubeconfig'])", 'get', 'service', 'kubernetes', '--namespace=default',
    '--output=jsonpath={.spec.clusterIP}'
    $said = Invoke-Kubectl (New-TimedRun $Run $QuestionSeconds) $api['kubectl'] $words
    if ($said -notmatch '\A\d+(\.\d+){3}\z') { return }
    $policies = @(Send-HnsRequest 'GET' 'policylists' | ForEach-Object {
            if ($_.PSObject.Properties['Policies']) { $_.Policies }
        })
    $addresses = @($policies | ForEach-Object { if ($_.PSObject.Properties['VIPs']) { $_.VIPs } })
    $missing = Get-Confirmed $Record 'balancers' @($said | Where-Object { $_ -notin $addresses })
    Clear-Repair $Record 'balancers' $missing
    if ($missing) { "HNS has no load balancer of $missing, the Service kubernetes", $missing }
}
