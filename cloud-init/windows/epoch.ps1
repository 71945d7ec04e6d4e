# Restarts programs that watch the cluster, once, after a restore from a snapshot (mullion restore): they cache objects
# and would miss what the restore rolled back. The control plane's agent publishes the epoch of the restore; each
# machine remembers the last epoch it followed. The task that handles requests (collect-logs.ps1) uses these functions.

$EpochObject = 'epoch.json'    # object of the bundle store: {"epoch": number}; missing before the first restore
$Followed = "$env:ProgramData\mullion\epoch"
$Watching = 'kubelet', 'flanneld', 'kube-proxy'    # in the order of their start
$RestartLimit = 120    # seconds for all of them together

# .SYNOPSIS
# Return the epoch if it differs from the one followed last; empty if not, or if the store is unreachable.
function Get-NewEpoch {
    [CmdletBinding()]
    param([hashtable] $Facts)
    try {
        $bytes = Invoke-SignedRequest -Url "$($Facts['bundle_store'])/$EpochObject" -Service 'store'
        $epoch = [string] [int] (ConvertFrom-Json $Utf8.GetString($bytes)).epoch
    }
    catch { return '' }
    if ([IO.File]::Exists($Followed) -and [IO.File]::ReadAllText($Followed) -eq $epoch) { '' } else { $epoch }
}

# .SYNOPSIS
# Restart the running ones; dependent services stop first and start last.
function Restart-Watcher {
    [CmdletBinding()]
    param([hashtable] $Run)
    $Run.Watch.Restart()
    $Run.Limit = $RestartLimit
    $running = @($Watching | Where-Object { (Get-ServiceState $_) -eq 'Running' })
    for ($place = $running.Count - 1; $place -ge 0; $place--) { Stop-PlannedService $Run $running[$place] }
    foreach ($name in $running) { Start-PlannedService $Run $name }
}

# .SYNOPSIS
# Restart the programs for a new epoch and record it. If the executor is running, the next call does; if a program does
# not start, start the executor, which starts it or reports the error.
function Invoke-NewEpoch {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Epoch)
    $lock = [Threading.Mutex]::new($false, 'Global\mullion')
    try { $mine = $lock.WaitOne(0) } catch [Threading.AbandonedMutexException] { $mine = $true }
    if (-not $mine) { return $lock.Dispose() }
    $failed = $null
    try {
        Restart-Watcher $Run
        Set-WholeFile $Followed $Utf8.GetBytes($Epoch)
        Write-Said $Run "the cluster was restored from a snapshot (epoch $Epoch): programs that watch it were restarted"
    }
    catch { $failed = $_ }
    finally { $lock.ReleaseMutex(); $lock.Dispose() }
    if ($failed) {
        Write-Said $Run "epoch ${Epoch}: $($failed.Exception.GetBaseException().Message)"
        Start-ScheduledTask -TaskName 'mullion'
    }
}
