# Programs that watch the cluster start anew, once, after it came back from a snapshot (mullion restore): they keep what
# they saw, and would not hear of what the restore took back. The control plane's agent publishes the restore's epoch,
# each machine remembers the last one that it followed. The task that looks for requests uses these functions.

$EpochObject = 'epoch.json'    # in the bundle store: {"epoch": number}; there is none before the first restore
$Followed = "$env:ProgramData\mullion\epoch"
$Watching = 'kubelet', 'flanneld', 'kube-proxy'    # in the order they start in
$RestartLimit = 120    # seconds for all of them

# .SYNOPSIS
# The published number, as text, where it is another than the one followed; empty also where the store is out of reach.
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
# Starts those that run anew; who depends on another stops before it and starts after it.
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
# Follows a new epoch and remembers it. While the executor runs, the next look does; what does not start again is the
# executor's to start, or to report.
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
        Write-Said $Run "the cluster came back from a snapshot (epoch $Epoch): what watches it was started anew"
    }
    catch { $failed = $_ }
    finally { $lock.ReleaseMutex(); $lock.Dispose() }
    if ($failed) {
        Write-Said $Run "epoch ${Epoch}: $($failed.Exception.GetBaseException().Message)"
        Start-ScheduledTask -TaskName 'mullion'
    }
}
