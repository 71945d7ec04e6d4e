# Restarts programs that watch the cluster, once, after a restore from a snapshot (mullion restore): they cache objects
# and would miss what the restore rolled back. The task that handles requests (collect-logs.ps1) uses these functions.

$RestartLimit = 120    # seconds for all of them together

# .SYNOPSIS
# Restart the running ones; dependent services stop first and start last. The next look at the network still compares
# HNS with its process before: HNS may have restarted since the last look, and a start of kube-proxy would hide that.
function Restart-Watcher {
    [CmdletBinding()]
    param([hashtable] $Run)
    $Run.Watch.Restart()
    $Run.Limit = $RestartLimit
    $process = (Update-Memory)['hns_process']
    $running = @($Watching | Where-Object { (Get-ServiceState $_) -eq 'Running' })
    try {
        for ($place = $running.Count - 1; $place -ge 0; $place--) { Stop-PlannedService $Run $running[$place] }
        foreach ($name in $running) { Start-PlannedService $Run $name }
    }
    finally { if ($process) { [void](Update-Memory @{ hns_process = $process }) } }
}

# .SYNOPSIS
# Restart the programs for a new epoch and record it. If a program does not stop or start, start the executor, which
# starts it or reports the error. The next run of the task tries again, as often as $Limits allows.
function Invoke-NewEpoch {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Epoch)
    $lock = [Threading.Mutex]::new($false, 'Global\mullion')
    try { $mine = $lock.WaitOne(0) } catch [Threading.AbandonedMutexException] { $mine = $true }
    # the executor is running: the next run of the task restarts them
    if (-not $mine) { return $lock.Dispose() }
    $why, $failed = "the cluster was restored from a snapshot (epoch $Epoch)", $null
    try {
        $record = Get-WatchRecord
        $due = Test-RepairDue $Run $record 'epoch' $Epoch $why
        [void](Update-Memory @{ watch = $record })
        if ($due) {
            Restart-Watcher $Run
            Set-WholeFile $Followed $Utf8.GetBytes($Epoch)
            Write-Said $Run "${why}: programs that watch it were restarted"
        }
    }
    catch { $failed = $_ }
    finally { $lock.ReleaseMutex(); $lock.Dispose() }
    if ($failed) {
        Write-Said $Run "epoch ${Epoch}: $($failed.Exception.GetBaseException().Message)"
        Start-ScheduledTask -TaskName 'mullion'
    }
}
