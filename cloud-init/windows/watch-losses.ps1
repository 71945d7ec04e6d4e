# What the network watch (watch-network.ps1) looks for. Each function returns the loss as text and its subjects, or
# nothing.

$RouteLooks = 5    # looks between two questions to the API for the other nodes' pod ranges
$BalancerLooks = 10    # looks between two questions to the API for the Service kubernetes
# first build of Windows with the policy HostRoute (flannel-io/flannel pkg/backend/vxlan/device_windows.go)
$HostRouteBuild = 18321
$QuestionSeconds = 60    # for one question to the API
$MacForm = '"VtepMAC":"((?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2})"'    # in flannel's backend-data
$AgainSeconds = 10    # after which a missing network is asked for again

# .SYNOPSIS
# Return the plan's first step of a kind as the plan has it.
function Find-PlannedStep {
    [CmdletBinding()]
    param([string[]] $Kinds)
    $steps = (Read-Json "$PSScriptRoot\plan.json")['phases'] | ForEach-Object { $_['steps'] }
    $steps | Where-Object { $_['kind'] -in $Kinds } | Select-Object -First 1
}

# .SYNOPSIS
# Return the plan's first step of a kind, with resolved references except those of the Node object. Throw if the machine
# has no address or default route, and a reference needs it.
function Get-PlannedStep {
    [CmdletBinding()]
    param([hashtable] $Run, [string[]] $Kinds)
    $step = Find-PlannedStep $Kinds
    if (-not $step) { return }
    # The API may be down now; flanneld's file has the range of the network that it made.
    if ($step['subnet_file']) { $step['subnet'] = Get-FlannelRange $step['subnet_file'] }
    Resolve-Reference $Run $step
}

# .SYNOPSIS
# Return whether someone stopped the kubelet. Windows would start it with flanneld and kube-proxy, which depend on it,
# and without it nothing replaces a sandbox.
function Test-KubeletStopped {
    [CmdletBinding()]
    param()
    (Get-ServiceState 'kubelet') -eq 'Stopped'
}

# .SYNOPSIS
# Return why kube-proxy needs another address, as text; nothing if it does not. A Node that registers again, after a
# restore for example, can get another pod range, and flanneld makes its network of that range. kube-proxy makes no
# load balancer while HNS refuses an endpoint with its address (Kubernetes, pkg/proxy/winkernel/proxier.go). Only the
# executor's steps help.
function Get-MovedRange {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    if (-not $Step['subnet_file'] -or -not $Step['subnet']) { return }
    $held = Get-HeldAddress (Get-PlannedStep $Run 'stale-network')
    if (-not $held -or (Test-InRange $held $Step['subnet'])) { return }
    "kube-proxy has the address $held, which is outside $($Step['subnet']), the range of $($Step['network'])"
}

# .SYNOPSIS
# Say what a deadline has ended since the last run. Return whether the executor must be started.
function Test-Hung {
    [CmdletBinding()]
    param([hashtable] $Run, [string[]] $Hung)
    $text = 'did not return in time, and its process was ended: if this recurs, WMI hangs: restart the machine'
    foreach ($mark in $Hung) {
        $said = if ($mark -eq $HungExecutor) { 'a call of the executor' } else { 'a call of the network watch' }
        Write-Event $Run "$said $text" 0
        Write-Said $Run "$said $text"
    }
    $record = Get-WatchRecord
    # a repair that was ended is still pending, and has left services stopped
    $why = if ($HungExecutor -in $Hung) { 'the executor was ended' } else { $record['pending'] }
    if (-not $why) { return $false }
    $starts = Test-RepairDue $Run $record 'executor' '' $why
    if ($starts) { $record['pending'] = '' }
    [void](Update-Memory @{ watch = $record })
    $starts
}

# .SYNOPSIS
# Return whether the executor must be started because it ended before it finished its plan in this boot: at two looks in
# a row its process was gone. A machine that restarts, or a task that starts at boot, takes less than the time between
# two looks.
function Test-Died {
    [CmdletBinding()]
    param([hashtable] $Run)
    $record, $why = (Get-WatchRecord), 'the executor ended before it finished its plan'
    $died = Get-Confirmed $record 'executor' @(if (-not (Test-ExecutorProcess)) { 'executor' })
    $starts = $died -and (Test-RepairDue $Run $record 'executor' '' $why)
    if ($starts) {
        Write-Event $Run "the executor is started: $why" 0
        Write-Said $Run "the executor is started: $why"
        # two looks in a row again before the next start
        [void](Get-Confirmed $record 'executor' @())
    }
    [void](Update-Memory @{ watch = $record })
    $starts
}

# .SYNOPSIS
# HNS runs in another process than when kube-proxy was started, or the network is missing twice. A restart of HNS loses
# pods' endpoints (projectcalico/calico#5164), and it loses (Azure/AgentBaker#2085) or restores
# (kubernetes/kubernetes#139519) load balancers and networks. An address that is Tentative or an adapter that is down
# for a moment is no loss.
function Get-NetworkLoss {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, $Record)
    $before, $now = (Update-Memory)['hns_process'], (Get-HnsProcess)
    # WMI that does not answer says nothing about HNS
    if ($null -ne $now) {
        if ($before -and $before -ne $now) { return "HNS was restarted (process $before, now '$now')" }
        if (-not $before) { [void](Update-Memory @{ hns_process = $now }) }
    }
    if (Test-PodNetwork $Run $Step) { return }
    Start-Sleep -Seconds $AgainSeconds
    if (-not (Test-PodNetwork $Run $Step)) { "the network $($Step['network']) is gone or incomplete" }
}

# .SYNOPSIS
# Services of the pod network are stopped at two looks although the kubelet runs. A stop of the kubelet or the container
# runtime stops them too, a start of the kubelet starts neither, and Windows itself restarts only services that fail.
# Without the kubelet they stay stopped: the Node is not Ready, and someone stopped the kubelet on purpose.
function Get-ServiceLoss {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, $Record)
    $stopped = @('kube-proxy', $Step['service'] | Where-Object { $_ -and (Get-ServiceState $_) -eq 'Stopped' })
    if ((Get-ServiceState 'kubelet') -ne 'Running') { $stopped = @() }
    $lost = @(Get-Confirmed $Record 'services' $stopped)
    if ($lost) { "$($lost -join ' and ') stopped although the kubelet runs" }
}

# .SYNOPSIS
# Return name, pod range and flannel's backend-data (empty if missing) of all Nodes, or of one, as a list of lists;
# $null if the API does not answer. Each worker writes the backend-data of its own Node: %q of Go escapes newlines, so
# that it cannot add lines about other Nodes.
function Get-FlannelRow {
    [CmdletBinding()]
    param([hashtable] $Run, $Api, [string] $Name = '')
    $words = @("--kubeconfig=$($Api['kubeconfig'])", 'get', 'nodes')
    if ($Name) { $words += "--field-selector=metadata.name=$Name" }
    $words += '--output=go-template={{range .items}}{{printf `%q %q ` .metadata.name .spec.podCIDR}}' +
    '{{with .metadata.annotations}}{{printf `%q` (index . `flannel.alpha.coreos.com/backend-data`)}}{{end}}' +
    '{{println}}{{end}}'
    $said = Invoke-Kubectl (New-TimedRun $Run $QuestionSeconds) $Api['kubectl'] $words
    if (-not $said) { return $null }
    # kubectl prints warnings in lines of their own; a missing value is %!q(<nil>)
    , @(foreach ($line in $said -split "`r?`n") {
            if ($line -notmatch '\A"([^"\\]+)" "([^"\\]+)" ?(.*)\z') { continue }
            $data = if ($Matches[3] -like '"*"') { $Matches[3].Trim('"') -replace '\\"', '"' } else { '' }
            , @($Matches[1], $Matches[2], $data)
        })
}

# .SYNOPSIS
# The own Node has no annotations of flannel at two questions: it was deleted, and the kubelet registered it again.
# flanneld writes them at its start only, and other nodes have no route to this one without them.
function Get-AnnotationLoss {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, $Record)
    if ($Step['kind'] -ne 'overlay-network' -or $Record['looks'] % $RouteLooks) { return }
    $api = Get-PlannedStep $Run 'pod-range'
    $rows = Get-FlannelRow $Run $api $api['node']
    if ($null -eq $rows) { return }
    $bare = $rows | Where-Object { $_[0] -eq $api['node'] -and -not $_[2] }
    if (-not (Get-Confirmed $Record 'annotations' @(if ($bare) { $api['node'] }))) { return }
    "the Node $($api['node']) has lost flannel's annotations, which flanneld writes at its start"
}

# .SYNOPSIS
# Return pod ranges of other nodes that flannel has announced with a router, for which the network has no route, or one
# to another router, also beside the right one: flanneld drops errors of HNS when it adds routes and when it removes old
# ones (flannel-io/flannel pkg/backend/vxlan/vxlan_network_windows.go). $null if the API does not answer.
function Get-UnroutedRange {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $api = Get-PlannedStep $Run 'pod-range'
    $rows = Get-FlannelRow $Run $api
    if ($null -eq $rows) { return $null }
    $network = Get-HnsObject 'networks' $Step['network']
    $policies = if ($network.PSObject.Properties['Policies']) { $network.Policies }
    $routes = $policies | Where-Object { $_.PSObject.Properties['DestinationPrefix'] }
    # HNS writes MAC addresses with - or :; a route without one counts as correct
    $routed = @{}
    foreach ($route in $routes) {
        $mac = if ($route.PSObject.Properties['DistributedRouterMacAddress']) { $route.DistributedRouterMacAddress }
        $routed[$route.DestinationPrefix] = @($routed[$route.DestinationPrefix]) + ("$mac" -replace '[-:]')
    }
    $unrouted = @(foreach ($row in $rows) {
            $name, $range, $backend = $row
            # a Windows node that has no network yet has announced no router
            if ($name -eq $api['node'] -or $backend -notmatch $MacForm) { continue }
            $router = $Matches[1] -replace ':'
            $old = @($routed[$range] | Where-Object { $_ -and $_ -ne $router })
            if (-not $routed.ContainsKey($range) -or $old) { $range }
        })
    , $unrouted
}

# .SYNOPSIS
# Routes of flannel's network to other nodes' pods are missing or old at two questions. The subjects are the ranges.
function Get-RouteLoss {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, $Record)
    if ($Step['kind'] -ne 'overlay-network' -or $Record['looks'] % $RouteLooks) { return }
    $found = Get-UnroutedRange $Run $Step
    if ($null -eq $found) { return }
    $ranges = @(Get-Confirmed $Record 'routes' @($found | Sort-Object))
    Clear-Repair $Record 'routes' $ranges
    if (-not $ranges) { return }
    "the network $($Step['network']) has no route to pods of $($ranges -join ', '), or an old one"
    $ranges
}

# .SYNOPSIS
# flannel's network has no policy HostRoute at two looks: the host does not reach its own pods, and the kubelet's probes
# fail. flanneld adds it at its start, and drops errors of HNS (pkg/backend/vxlan/device_windows.go).
function Get-HostRouteLoss {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, $Record)
    if ($Step['kind'] -ne 'overlay-network') { return }
    if ([int] (Get-RegistryValue $CurrentVersion 'CurrentBuildNumber') -lt $HostRouteBuild) { return }
    $network = Get-HnsObject 'networks' $Step['network']
    $policies = if ($network -and $network.PSObject.Properties['Policies']) { $network.Policies }
    $kinds = @($policies | ForEach-Object { if ($_.PSObject.Properties['Type']) { $_.Type } })
    $lost = @(Get-Confirmed $Record 'hostroute' @(if ('HostRoute' -notin $kinds) { $Step['network'] }))
    Clear-Repair $Record 'hostroute' $lost
    if ($lost) { "the network $($Step['network']) has no policy HostRoute, so probes of the kubelet fail", $lost }
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
