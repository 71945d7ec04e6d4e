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
#   shared     addresses that the last look found in several endpoints

. "$PSScriptRoot\watch-losses.ps1"
. "$PSScriptRoot\watch-endpoints.ps1"

$NetworkKinds = 'overlay-network', 'hns-network'

# Cause -> what looks for it (returns the loss as text and its subjects), and what repairs it.
$Causes = [ordered] @{
    network   = 'Get-NetworkLoss', 'Restart-Network'
    services  = 'Get-ServiceLoss', 'Start-StoppedService'
    routes    = 'Get-RouteLoss', 'Restart-Network'
    balancers = 'Get-BalancerLoss', 'Restart-KubeProxy'
}

# Cause -> number of repairs of one subject within seconds; $null: within the boot, or until the subject is well again.
$Limits = @{
    network = 3, 3600; services = 3, 3600; executor = 3, 3600
    # the services were started anew for this; more starts only cut connections
    routes = 3, $null; balancers = 3, $null; sandbox = 3, $null
}
$NetworkSeconds = 180    # for flannel's network or the bridge
$ServiceSeconds = 60    # for the stop and the start of one service

# .SYNOPSIS
# Return whether the executor finished its plan in this boot, so that all services and the network were there.
function Test-NodeDone {
    [CmdletBinding()]
    param($Step)
    $result = "$State\result.json"
    [IO.File]::Exists($result) -and (Read-Json $result)['state'] -eq 'done' -and (Test-SetInBoot $Step)
}

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
        pending = ''; shared = ''
    }
}

# .SYNOPSIS
# Return what this question of a cause and the last one found, and keep what this one found.
function Get-Confirmed {
    [CmdletBinding()]
    param($Record, [string] $Cause, [string[]] $Found)
    $before, $now = @($Record['suspects'][$Cause]), @($Found | Where-Object { $_ })
    $Record['suspects'][$Cause] = $now
    $now | Where-Object { $_ -in $before }
}

# .SYNOPSIS
# Return the seconds since Windows started, which no change of the clock affects.
function Get-UpSecond {
    [CmdletBinding()]
    param()
    [long] ([Diagnostics.Stopwatch]::GetTimestamp() / [Diagnostics.Stopwatch]::Frequency)
}

# .SYNOPSIS
# Count a repair and return $true, or return $false if $Limits has it wait, and say that once.
function Test-RepairDue {
    [CmdletBinding()]
    param([hashtable] $Run, $Record, [string] $Cause, [string] $Subject, [string] $Why)
    $most, $seconds = $Limits[$Cause]
    $name = "$Cause $Subject".Trim()
    $known = $Record['repairs'][$name]
    $since = if ($seconds) { (Get-UpSecond) - $seconds } else { -1 }
    $made = @(if ($known) { $known['made'] | Where-Object { $_ -gt $since } })
    $due = $made.Count -lt $most
    if ($due) { $made += Get-UpSecond }
    elseif (-not $known['waits']) {
        $said = "${Why}: $most repairs ($name) "
        $said += if ($seconds) { "within $seconds s did not help, the next one waits" } else {
            'did not help, no more follow'
        }
        Write-Event $Run $said 0
        Write-Said $Run $said
    }
    $Record['repairs'][$name] = [ordered] @{ made = $made; waits = -not $due }
    $due
}

# .SYNOPSIS
# Forget the repairs of a cause for all but these subjects: the others are well.
function Clear-Repair {
    [CmdletBinding()]
    param($Record, [string] $Cause, [string[]] $Except = @())
    $kept = @($Except | ForEach-Object { "$Cause $_" })
    foreach ($name in @($Record['repairs'].Keys)) {
        if ($name.Split(' ')[0] -eq $Cause -and $name -notin $kept) { $Record['repairs'].Remove($name) }
    }
}

# .SYNOPSIS
# Restart kube-proxy, which creates all load balancers again.
function Restart-KubeProxy {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    if ((Get-ServiceState 'kube-proxy') -notin '', 'Stopped') {
        Stop-PlannedService (New-TimedRun $Run $ServiceSeconds) 'kube-proxy'
    }
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
    $step = Get-PlannedStep $Run $NetworkKinds
    foreach ($cause in $Causes.Keys) {
        $finds, $repairs = $Causes[$cause]
        $why, $subjects = & $finds $Run $step $Record
        if (-not $why) { continue }
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
    foreach ($part in 'Repair-Network', 'Watch-Endpoint') {
        if ($record['pending']) { break }
        try { [void](& $part $Run $record) }
        catch {
            $failure = Get-Failure $_.Exception
            Write-Said $Run "the pod network: $($failure.Message)"
            # the address or default route is lost, or HNS refuses or hangs
            if ($failure.Name -eq 'network-missing') { $record['pending'] = $failure.Message }
        }
    }
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
# Look at the network unless the executor is running, or has not finished in this boot. After a run that was ended, look
# only at the next one, so that a hanging call does not keep this task from its requests.
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
        $hung, $step = @(Get-Hung), (Find-PlannedStep $NetworkKinds)
        $starts = if ($hung) { Test-Hung $Run $hung } else { $step -and (Test-NodeDone $step) -and (Invoke-Look $Run) }
    }
    finally { $lock.ReleaseMutex(); $lock.Dispose() }
    # afterwards: the executor ends at once if another run has the lock
    if ($starts) { Start-ScheduledTask -TaskName 'mullion' }
}
