# States of Windows services: asked, awaited, and changed.

Add-Type -AssemblyName System.ServiceProcess    # Windows PowerShell 5.1 does not load it itself

$SettleSeconds = 2    # a service with a wrong flag, file or network exits within them

# .SYNOPSIS
# Return the status (Running, Stopped, StartPending, ...); empty if the service does not exist.
function Get-ServiceState {
    [CmdletBinding()]
    param([string] $Name)
    $service = [ServiceProcess.ServiceController]::new($Name)
    try { "$($service.Status)" }
    catch [InvalidOperationException] { '' }    # ERROR_SERVICE_DOES_NOT_EXIST
    finally { $service.Dispose() }
}

# .SYNOPSIS
# Wait until the service has one of the states, or the step's timeout is over; return its last state.
function Wait-ServiceState {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name, [string[]] $States)
    for (; ; ) {
        $now = Get-ServiceState $Name
        if ($now -in $States -or $Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) { return $now }
        Start-Sleep -Milliseconds 250
    }
}

# .SYNOPSIS
# Wait until the service neither starts nor stops; return its state. Early in a boot Windows still starts services, and
# these refuse to stop.
function Wait-Settled {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name)
    Wait-ServiceState $Run $Name 'Running', 'Stopped', 'Paused', ''
}

# .SYNOPSIS
# Return the names of the services that run and depend on a service, also by way of others, in start order.
function Get-RunningDependent {
    [CmdletBinding()]
    param([string] $Name)
    $service = [ServiceProcess.ServiceController]::new($Name)
    try { $names = @($service.DependentServices | Where-Object { "$($_.Status)" -ne 'Stopped' } | ForEach-Object Name) }
    finally { $service.Dispose() }
    # Windows lists the one that must stop first (EnumDependentServicesW)
    [Array]::Reverse($names)
    $names
}

# .SYNOPSIS
# Stop a service and wait until it has stopped.
function Stop-PlannedService {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name)
    $service = [ServiceProcess.ServiceController]::new($Name)
    # A service that is starting refuses the stop; one that has just exited needs none.
    try { $service.Stop() } catch { [void] $_ } finally { $service.Dispose() }
    $now = Wait-ServiceState $Run $Name 'Stopped', ''
    if ($now -notin 'Stopped', '') { throw (New-Failure 'service-failed' "$Name does not stop, it is $now") }
}

# .SYNOPSIS
# Start a service and wait until it runs. Something else may have started it: a trigger, nssm, or a dependent service.
# Keep the process of HNS that kube-proxy is started for: it does not notice that HNS is restarted, the watch does.
function Start-PlannedService {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name)
    if ($Name -eq 'kube-proxy') { [void](Update-Memory @{ hns_process = "$(Get-HnsProcess)" }) }
    $service = [ServiceProcess.ServiceController]::new($Name)
    try { $service.Start() }
    catch {
        if ((Get-ServiceState $Name) -notin 'Running', 'StartPending') {
            throw (New-Failure 'service-failed' "${Name}: $($_.Exception.GetBaseException().Message)")
        }
    }
    finally { $service.Dispose() }
    $now = Wait-ServiceState $Run $Name 'Running', 'Stopped', ''
    if ($now -ne 'Running') { throw (New-Failure 'service-failed' "$Name is $now, read its log") }
    $Run.Started[$Name] = [Diagnostics.Stopwatch]::StartNew()
}

# .SYNOPSIS
# Return whether a service runs; if this run started it, after SettleSeconds.
function Test-Running {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name)
    $started = $Run.Started[$Name]
    while ($started -and $started.Elapsed.TotalSeconds -lt $SettleSeconds) { Start-Sleep -Milliseconds 250 }
    (Get-ServiceState $Name) -eq 'Running'
}
