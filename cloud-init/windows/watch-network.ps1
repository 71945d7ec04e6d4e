# Watches the pod network between boots: routes to the cloud's services, and the Host Networking Service (HNS). A
# restart of HNS loses all load balancers, and flannel's network too, which is not persistent; neither kube-proxy nor
# flanneld notices (AKS restarts kube-proxy for the same reason: hnsremediator.ps1). The task that handles requests
# (collect-logs.ps1) uses these functions every two minutes.

$WatchRestarts = 3    # restarts of services within WatchWindow; further ones wait
$WatchWindow = 3600    # seconds
$WatchLimit = 180    # seconds for the services and the network of one restart
$NetworkKinds = 'overlay-network', 'hns-network'

# .SYNOPSIS
# Return process id and start time of HNS, because Windows reuses process ids. Empty if HNS does not run.
function Get-HnsProcess {
    [CmdletBinding()]
    param()
    $service = Get-CimInstance -ClassName Win32_Service -Filter "Name='hns'" -ErrorAction Ignore
    if (-not $service -or -not $service.ProcessId) { return '' }
    $process = Get-Process -Id $service.ProcessId -ErrorAction Ignore
    if ($process) { '{0} {1:s}' -f $process.Id, $process.StartTime.ToUniversalTime() } else { "$($service.ProcessId)" }
}

# .SYNOPSIS
# Return the plan's first step of a kind, with resolved references except those of the Node object.
function Get-PlannedStep {
    [CmdletBinding()]
    param([hashtable] $Run, [string[]] $Kinds)
    foreach ($phase in (Read-Json "$PSScriptRoot\plan.json")['phases']) {
        foreach ($step in $phase['steps']) {
            if ($step['kind'] -notin $Kinds) { continue }
            # The API may be down now; flanneld's file has the range of the network that it made.
            if ($step['subnet_file']) { $step['subnet'] = Get-FlannelRange $step['subnet_file'] }
            return Resolve-Reference $Run $step
        }
    }
}

# .SYNOPSIS
# Return whether the executor finished its plan in this boot, so that all services and the network were there.
function Test-NodeDone {
    [CmdletBinding()]
    param($Step)
    $result = "$State\result.json"
    [IO.File]::Exists($result) -and (Read-Json $result)['state'] -eq 'done' -and (Test-SetInBoot $Step)
}

# .SYNOPSIS
# Return as text what changed in the network since the last look; nothing if it is unchanged.
function Get-NetworkLoss {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, [string] $Before, [string] $Now)
    if ($Before -and $Before -ne $Now) { return "HNS was restarted (process $Before, now '$Now')" }
    $noun = Get-KindNoun $Step['kind']
    if (-not (& "Test-${noun}Step" $Run $Step)) { "the network $($Step['network']) is gone or incomplete" }
}

# .SYNOPSIS
# Restart flanneld, which creates its network, or create the bridged network; then restart kube-proxy, which creates the
# load balancers in it.
function Restart-Network {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $Run.Watch.Restart()
    $Run.Limit = $WatchLimit
    foreach ($name in 'kube-proxy', $Step['service']) {
        if ($name -and (Get-ServiceState $name) -notin '', 'Stopped') { Stop-PlannedService $Run $name }
    }
    if ($Step['service']) { Start-PlannedService $Run $Step['service'] }
    $noun = Get-KindNoun $Step['kind']
    if (-not (& "Test-${noun}Step" $Run $Step)) { & "Set-${noun}Step" $Run $Step }
    Start-PlannedService $Run 'kube-proxy'
}

# .SYNOPSIS
# Return the seconds since Windows started, which no change of the clock affects.
function Get-UpSecond {
    [CmdletBinding()]
    param()
    [long] ([Diagnostics.Stopwatch]::GetTimestamp() / [Diagnostics.Stopwatch]::Frequency)
}

# .SYNOPSIS
# Look at the network once, and restart its services if it was lost; if that fails, start the executor, which repairs
# the node or reports the error. The memory between looks has the boot, the process of HNS, the up-times of restarts,
# and whether one waits.
function Invoke-NetworkLook {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $route = Get-PlannedStep $Run 'metadata-route'
    if ($route -and -not (Test-MetadataRouteStep $Run $route)) { Set-MetadataRouteStep $Run $route }
    $known, $now = (Update-Memory)['network_watch'], (Get-HnsProcess)
    if (-not $known -or $known['boot'] -ne (Get-BootId)) {
        $known = [ordered] @{ boot = Get-BootId; process = $now; restarts = @(); waits = $false }
    }
    $loss = Get-NetworkLoss $Run $Step $known['process'] $now
    $recent = @($known['restarts'] | Where-Object { $_ -gt (Get-UpSecond) - $WatchWindow })
    $due = $loss -and $recent.Count -lt $WatchRestarts
    if ($due) { $recent += Get-UpSecond }
    $waited, $known['restarts'] = $known['waits'], $recent
    $known['waits'] = [bool] ($loss -and -not $due)
    if (-not $known['waits']) { $known['process'] = $now }
    [void](Update-Memory @{ network_watch = $known })
    if ($known['waits'] -and -not $waited) {
        Write-Said $Run "${loss}: $WatchRestarts restarts within $WatchWindow s did not help, the next one waits"
    }
    if (-not $due) { return }
    Write-Event $Run "${loss}: services of the pod network are started anew" 0
    Write-Said $Run "${loss}: services of the pod network are started anew"
    try {
        Restart-Network $Run $Step
        Write-Said $Run "the pod network works again"
    }
    catch {
        Write-Said $Run "the pod network: $($_.Exception.GetBaseException().Message)"
        Start-ScheduledTask -TaskName 'mullion'
    }
}

# .SYNOPSIS
# Look at the network unless the executor is running, or has not finished in this boot.
function Invoke-NetworkWatch {
    [CmdletBinding()]
    param([hashtable] $Run)
    $lock = [Threading.Mutex]::new($false, 'Global\mullion')
    try { $mine = $lock.WaitOne(0) } catch [Threading.AbandonedMutexException] { $mine = $true }
    if (-not $mine) { return $lock.Dispose() }
    try {
        $step = Get-PlannedStep $Run $NetworkKinds
        if ($step -and (Test-NodeDone $step)) { Invoke-NetworkLook $Run $step }
    }
    catch { Write-Said $Run "the pod network: $($_.Exception.GetBaseException().Message)" }
    finally { $lock.ReleaseMutex(); $lock.Dispose() }
}
