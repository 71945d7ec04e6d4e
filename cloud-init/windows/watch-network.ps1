# Watches the pod network between boots: the Host Networking Service (HNS) loses networks, load balancers and endpoints,
# and neither flanneld nor kube-proxy notices. The task that handles requests (collect-logs.ps1) looks every 2 minutes.
#
# A look asks $Causes in order, and repairs the first loss whose limit allows it. Then it looks at endpoints
# (watch-endpoints.ps1). It keeps one record of this boot in state.json:
#   looks      number of looks
#   suspects   cause -> what its last question found: only what two questions in a row find is lost
#   repairs    cause and subject -> up-times of the repairs made, and whether $Limits has the next one wait
#   pending    why the executor must run, which repairs the node or reports the error. A repair sets it before it stops
#              services and empties it at its end: the executor also follows a repair that failed or was cut off
#   silent     number of looks in a row in which HNS did not answer a call in time; one says nothing, HNS may be slow
#   shared     addresses that the last look found in several endpoints

. "$PSScriptRoot\watch-losses.ps1"
. "$PSScriptRoot\watch-endpoints.ps1"

$NetworkKinds = 'overlay-network', 'hns-network'

# Cause -> what looks for it (returns the loss as text and its subjects), and what repairs it.
$Causes = [ordered] @{
    network     = 'Get-NetworkLoss', 'Restart-Network'
    services    = 'Get-ServiceLoss', 'Start-StoppedService'
    annotations = 'Get-AnnotationLoss', 'Restart-Network'
    routes      = 'Get-RouteLoss', 'Restart-Network'
    hostroute   = 'Get-HostRouteLoss', 'Restart-Network'
    strays      = 'Get-StrayLoss', 'Restart-KubeProxy'
    balancers   = 'Get-BalancerLoss', 'Restart-KubeProxy'
}
# Causes whose repair waits while kube-proxy is still making load balancers.
$Patient = 'annotations', 'routes', 'hostroute', 'strays', 'balancers'
$Proxied = 'strays', 'balancers'    # causes that are asked anew after kube-proxy was started: it makes these objects

$NetworkSeconds = 180    # for flannel's network or the bridge
$ServiceSeconds = 60    # for the stop of one service, and as many for its start

# .SYNOPSIS
# Return whether network and routes that the step's kind makes are there.
function Test-PodNetwork {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    & "Test-$(Get-KindNoun $Step['kind'])Step" $Run $Step
}

# .SYNOPSIS
# Return the record of this boot; a new one at the first look of a boot.
function Get-WatchRecord {
    [CmdletBinding()]
    param()
    $record = (Update-Memory)['watch']
    if ($record -and $record['boot'] -eq (Get-BootId)) { return $record }
    [ordered] @{
        boot = Get-BootId; looks = 0; suspects = [ordered] @{}; repairs = [ordered] @{}
        pending = ''; silent = 0; shared = ''
    }
}

# .SYNOPSIS
# Restart kube-proxy, which creates all load balancers again. While it is stopped, remove what it would take as it is:
# endpoints of other nodes' pods with a wrong provider address, and with them all load balancers.
function Restart-KubeProxy {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    if ((Get-ServiceState 'kube-proxy') -notin '', 'Stopped') {
        Stop-PlannedService (New-TimedRun $Run $ServiceSeconds) 'kube-proxy'
    }
    Remove-StrayEndpoint (New-TimedRun $Run $NetworkSeconds) $Step
    Start-PlannedService (New-TimedRun $Run $ServiceSeconds) 'kube-proxy'
}

# .SYNOPSIS
# Start flanneld and kube-proxy if they are stopped; restart neither.
function Start-StoppedService {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    foreach ($name in $Step['service'], 'kube-proxy') {
        if (-not $name -or (Get-ServiceState $name) -ne 'Stopped') { continue }
        Start-PlannedService (New-TimedRun $Run $ServiceSeconds) $name
    }
}

# .SYNOPSIS
# Restart flanneld, which creates its network and routes, or create the bridged network; then restart kube-proxy, which
# creates the load balancers in it. kube-proxy depends on flanneld: Windows stops both, and starts none by itself.
function Restart-Network {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    foreach ($name in 'kube-proxy', $Step['service']) {
        if (-not $name -or (Get-ServiceState $name) -in '', 'Stopped') { continue }
        Stop-PlannedService (New-TimedRun $Run $ServiceSeconds) $name
    }
    foreach ($name in 'hns', $Step['service']) {
        if (-not $name -or (Get-ServiceState $name) -ne 'Stopped') { continue }
        Start-PlannedService (New-TimedRun $Run $ServiceSeconds) $name
    }
    $own = New-TimedRun $Run $NetworkSeconds
    if (-not (Test-PodNetwork $own $Step)) { & "Set-$(Get-KindNoun $Step['kind'])Step" $own $Step }
    Restart-KubeProxy $Run $Step
}

# .SYNOPSIS
# Look for losses of the network and repair the first one whose limit allows it. A failed repair stays in the record
# as `pending`.
function Repair-Network {
    [CmdletBinding()]
    param([hashtable] $Run, $Record)
    # first: without this route no request reaches the cloud's services, and no run of the executor ends
    $route = Get-PlannedStep $Run 'metadata-route'
    if ($route -and -not (Test-MetadataRouteStep $Run $route)) { Repair-MetadataRoute $Run }
    if (Test-KubeletStopped) { return }
    $step = Get-PlannedStep $Run $NetworkKinds
    $moved = Get-MovedRange $Run $step
    if ($moved) { throw (New-Failure 'network-missing' $moved) }
    foreach ($cause in $Causes.Keys) {
        $finds, $repairs = $Causes[$cause]
        $why, $subjects = & $finds $Run $step $Record
        if (-not $why) { continue }
        $open = @(@($subjects) | Where-Object { -not (Test-GivenUp $Record $cause $_) })
        if ($open.Count -and $cause -in $Patient -and (Test-ProxyProgress)) {
            Write-Said $Run "${why}: kube-proxy is still making load balancers, so it is not restarted yet"
            continue
        }
        $due = @(@($subjects) | Where-Object { Test-RepairDue $Run $Record $cause $_ $why })
        if (-not $due.Count) {
            # without a network the other causes say nothing
            if ($cause -eq 'network') { return }
            continue
        }
        $why = "${why}: services of the pod network are started anew"
        Write-Event $Run $why 0
        Write-Said $Run $why
        $Record['pending'] = $why
        [void](Update-Memory @{ watch = $Record })
        & $repairs $Run $step
        $Record['pending'] = ''
        foreach ($each in $Proxied) { $Record['suspects'].Remove($each) }
        return Write-Said $Run 'the pod network works again'
    }
}

# .SYNOPSIS
# Look at the network and the endpoints once. Return whether the executor must be started.
function Invoke-Look {
    [CmdletBinding()]
    param([hashtable] $Run)
    $record = Get-WatchRecord
    $known = $record['repairs']['executor']
    # the executor has to wait: the loss may be over before
    if ($known -and $known['waits']) { $record['pending'] = '' }
    $silent = $false
    foreach ($part in 'Repair-Network', 'Watch-Endpoint') {
        if ($record['pending'] -or $silent) { break }
        try { [void](& $part $Run $record) }
        catch {
            $failure = Get-Failure $_.Exception
            Write-Said $Run "the pod network: $($failure.Message)"
            $silent = [bool] $_.Exception.Data['hns-silent']
            # the address or default route is lost, HNS refuses, or it was silent at the last look too
            $lost = $failure.Name -eq 'network-missing' -and (-not $silent -or $record['silent'])
            if ($lost) { $record['pending'] = $failure.Message }
        }
    }
    $record['silent'] = if ($silent) { 1 + $record['silent'] } else { 0 }
    $record['looks'] = 1 + $record['looks']
    $starts = $record['pending'] -and (Test-RepairDue $Run $record 'executor' '' $record['pending'])
    if ($starts) {
        Write-Said $Run "the executor is started: $($record['pending'])"
        $record['pending'] = ''
    }
    [void](Update-Memory @{ watch = $record })
    $starts
}

# .SYNOPSIS
# Look at the network unless the executor is running, or has not finished in this boot; then look whether it died. After
# a run that was ended, look only at the next one, so that a hanging call does not keep this task from its requests.
function Invoke-NetworkWatch {
    [CmdletBinding()]
    param([hashtable] $Run)
    $script:HungMark = $HungWatch
    $end = New-Deadline $WatchSeconds
    try { Start-Look $Run } finally { $end.Dispose() }
}

# .SYNOPSIS
# Do what Invoke-NetworkWatch says, without a deadline.
function Start-Look {
    [CmdletBinding()]
    param([hashtable] $Run)
    $lock = [Threading.Mutex]::new($false, 'Global\mullion')
    try { $mine = $lock.WaitOne(0) } catch [Threading.AbandonedMutexException] { $mine = $true }
    if (-not $mine) { return $lock.Dispose() }
    try {
        $hung = @(Get-Hung)
        $starts = if ($hung) { Test-Hung $Run $hung }
        elseif (-not (Test-Finished)) { Test-Died $Run }
        else { (Find-PlannedStep $NetworkKinds) -and (Invoke-Look $Run) }
    }
    finally { $lock.ReleaseMutex(); $lock.Dispose() }
    if (-not $starts) { return }
    # afterwards: the executor waits only some seconds for the lock
    try { Start-ScheduledTask -TaskName 'mullion' }
    catch { Write-Said $Run "the executor is not started: $($_.Exception.GetBaseException().Message)" }
}
