# Watches the pod network between boots: routes to the cloud's services, the Host Networking Service (HNS), routes to
# other nodes' pods, and endpoints of pods. A restart of HNS loses pods' endpoints (projectcalico/calico#5164), and it
# loses (Azure/AgentBaker#2085) or restores (kubernetes/kubernetes#139519) load balancers and networks; neither
# kube-proxy nor flanneld notices. The task that handles requests (collect-logs.ps1) does this every two minutes.

. "$PSScriptRoot\watch-routes.ps1"

$WatchRestarts = 3    # restarts of services within WatchWindow; further ones wait
$WatchWindow = 3600    # seconds
$WatchLimit = 180    # seconds for the services and the network of one restart
$NetworkKinds = 'overlay-network', 'hns-network'
$Crictl = 'C:\k\crictl.exe'

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
# Restart flanneld, which creates its network and routes, or create the bridged network; then start kube-proxy, which
# creates the load balancers in it. kube-proxy depends on flanneld: Windows stops both, and starts none by itself.
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
# Stop sandboxes that two looks in a row found without an endpoint: HNS lost it, the containers run on without network,
# and the kubelet restarts them in the same sandbox. In place of a stopped sandbox it makes a new one. host-local's
# leases name the sandboxes; one whose lease stays is stopped only once.
function Stop-LostSandbox {
    [CmdletBinding()]
    param([hashtable] $Run, $Known, $Endpoints)
    $used = @($Endpoints | ForEach-Object { $_.IPAddress })
    $leases = Get-Lease (Get-PlannedStep $Run 'stale-network')
    $lost = [ordered] @{}
    foreach ($address in $leases.Keys) {
        if ($leases[$address] -ne $Holder -and $address -notin $used) { $lost[$leases[$address]] = $address }
    }
    $stopped = @($Known['stopped'] | Where-Object { $_ -in $lost.Keys })
    foreach ($id in @($lost.Keys | Where-Object { $_ -in @($Known['lost']) -and $_ -notin $stopped })) {
        $why = "HNS has no endpoint with the address $($lost[$id]) of sandbox ${id}: the kubelet makes a new one"
        Write-Event $Run $why 0
        Write-Said $Run $why
        $answer = Invoke-Program -Program $Crictl -Arguments '--timeout', '60s', 'stopp', $id -AllowFailure
        if ($answer.Code) { Write-Said $Run "crictl stopp ${id}: $($answer.Output.Trim())" } else { $stopped += $id }
    }
    $Known['lost'], $Known['stopped'] = @($lost.Keys), $stopped
}

# .SYNOPSIS
# Say which addresses several endpoints of this machine have: a pod with one has no network until it moves to another
# node (Azure/AKS#5653, microsoft/Windows-Containers#631). Nothing is repaired, because either may be the living one.
function Write-SharedAddress {
    [CmdletBinding()]
    param([hashtable] $Run, $Known, $Endpoints)
    $groups = $Endpoints | Group-Object -Property IPAddress | Sort-Object -Property Name
    $shared = $groups | Where-Object { $_.Count -gt 1 }
    $texts = $shared | ForEach-Object { "$($_.Name): $(@($_.Group | ForEach-Object { $_.Name }) -join ', ')" }
    $said = @($texts) -join '; '
    if ($said -and $said -ne $Known['shared']) {
        Write-Event $Run "several HNS endpoints have one address, drain this node: $said" 0
        Write-Said $Run "several HNS endpoints have one address, drain this node: $said"
    }
    $Known['shared'] = $said
}

# .SYNOPSIS
# Look at the endpoints of this machine's pods once, unless the network is lost.
function Invoke-EndpointLook {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $noun = Get-KindNoun $Step['kind']
    if (-not (& "Test-${noun}Step" $Run $Step)) { return }
    $known = (Update-Memory)['endpoint_watch']
    if (-not $known -or $known['boot'] -ne (Get-BootId)) {
        $known = [ordered] @{ boot = Get-BootId; lost = @(); stopped = @(); shared = '' }
    }
    $own = @(Send-HnsRequest 'GET' 'endpoints' | Where-Object {
            $remote = $_.PSObject.Properties['IsRemoteEndpoint'] -and $_.IsRemoteEndpoint
            -not $remote -and $_.PSObject.Properties['IPAddress'] -and $_.IPAddress
        })
    Write-SharedAddress $Run $known $own
    Stop-LostSandbox $Run $known $own
    [void](Update-Memory @{ endpoint_watch = $known })
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
# the node or reports the error. Kept between looks: the boot, the process of HNS, the up-times of restarts, whether a
# restart waits, the number of looks, and the routes found missing.
function Invoke-NetworkLook {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $route = Get-PlannedStep $Run 'metadata-route'
    if ($route -and -not (Test-MetadataRouteStep $Run $route)) { Set-MetadataRouteStep $Run $route }
    $known, $now = (Update-Memory)['network_watch'], (Get-HnsProcess)
    if (-not $known -or $known['boot'] -ne (Get-BootId)) {
        $known = [ordered] @{
            boot = Get-BootId; process = ''; restarts = @(); waits = $false; looks = 0; unrouted = @()
        }
    }
    # WMI did not answer: the process of before, but not that of an earlier boot
    if ($null -eq $now) { $now = $known['process'] }
    $loss = Get-NetworkLoss $Run $Step $known['process'] $now
    if (-not $loss) { $loss = Get-RouteLoss $Run $Step $known }
    $recent = @($known['restarts'] | Where-Object { $_ -gt (Get-UpSecond) - $WatchWindow })
    $due = $loss -and $recent.Count -lt $WatchRestarts
    if ($due) { $recent += Get-UpSecond }
    $waited, $known['restarts'] = $known['waits'], $recent
    $known['waits'] = [bool] ($loss -and -not $due)
    if (-not $known['waits']) { $known['process'] = $now }
    [void](Update-Memory @{ network_watch = $known })
    if ($known['waits'] -and -not $waited) {
        Write-Said $Run "${loss}: $WatchRestarts restarts within $WatchWindow s did not help, the next restart waits"
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
# Look at the network unless the executor is running, or has not finished in this boot. If that cannot be done, start
# the executor, which repairs the node or reports the error.
function Invoke-NetworkWatch {
    [CmdletBinding()]
    param([hashtable] $Run)
    $lock = [Threading.Mutex]::new($false, 'Global\mullion')
    try { $mine = $lock.WaitOne(0) } catch [Threading.AbandonedMutexException] { $mine = $true }
    if (-not $mine) { return $lock.Dispose() }
    try {
        $step = Find-PlannedStep $NetworkKinds
        if (-not $step -or -not (Test-NodeDone $step)) { return }
        foreach ($look in 'Invoke-NetworkLook', 'Invoke-EndpointLook') {
            try { & $look $Run (Get-PlannedStep $Run $NetworkKinds) }
            catch {
                $failure = Get-Failure $_.Exception
                Write-Said $Run "the pod network: $($failure.Message)"
                # the address or default route is lost, or HNS refuses or hangs
                if ($failure.Name -eq 'network-missing') { return Start-ScheduledTask -TaskName 'mullion' }
            }
        }
    }
    finally { $lock.ReleaseMutex(); $lock.Dispose() }
}
