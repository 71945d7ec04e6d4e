# Restarts programs that watch the cluster, once: after a restore from a snapshot (mullion restore), because they cache
# objects and would miss what the restore rolled back, and after a change of the trusted authorities, which they read at
# their start. The task that handles requests (collect-logs.ps1) uses these functions.

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
# Restart the programs for a new epoch and record it.
function Invoke-NewEpoch {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Epoch)
    $ended = { Set-WholeFile $Followed $Utf8.GetBytes($Epoch) }
    Restart-For $Run 'epoch' $Epoch "the cluster was restored from a snapshot (epoch $Epoch)" { } $ended
}

# .SYNOPSIS
# Follow the published authorities. If the status record does not say what this machine trusts now, start the executor,
# which writes it: the kubelet renews its certificates by itself, and a record may have been lost.
function Invoke-TrustWatch {
    [CmdletBinding()]
    param([hashtable] $Run)
    $trust = Get-NewTrust $Run
    if ($trust) { return Invoke-NewTrust $Run $trust }
    $told = $Run.Told['facts']['status_url']
    if ($told -and [IO.File]::Exists($NodeCertificate) -and -not (Test-TrustReported)) {
        Start-ScheduledTask -TaskName 'mullion'
    }
}

# .SYNOPSIS
# Trust exactly these authorities (Get-PublishedTrust), and restart the programs that read them. Record them first: the
# executor keeps a CA file that is on record.
function Invoke-NewTrust {
    [CmdletBinding()]
    param([hashtable] $Run, [hashtable] $Trust)
    $pem = $Utf8.GetBytes($Trust.Pem)
    $digest = Get-Sha256 $pem
    $words = "$digest $($Trust.Moment)"
    $begun = {
        Set-WholeFile $TrustRecord $Utf8.GetBytes($words)
        Write-Content $TrustedCa $pem $Access.public
    }
    $ended = {
        Set-WholeFile $TrustRecord $Utf8.GetBytes("$words $TrustLoaded")
        Start-ScheduledTask -TaskName 'mullion'    # its status record says which authorities the machine trusts
    }
    Restart-For $Run 'trust' $digest.Substring(0, 12) 'the trusted certificate authorities changed' $begun $ended
}

# .SYNOPSIS
# Restart the programs between two blocks. If a program does not stop or start, start the executor, which starts it or
# reports the error. The next run of the task tries again, as often as $Limits allows.
function Restart-For {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Cause, [string] $Subject, [string] $Why, $Begin, $End)
    $lock = [Threading.Mutex]::new($false, 'Global\mullion')
    try { $mine = $lock.WaitOne(0) } catch [Threading.AbandonedMutexException] { $mine = $true }
    # the executor is running: the next run of the task restarts them
    if (-not $mine) { return $lock.Dispose() }
    $failed = $null
    try {
        $record = Get-WatchRecord
        $due = Test-RepairDue $Run $record $Cause $Subject $Why
        [void](Update-Memory @{ watch = $record })
        if ($due) {
            & $Begin
            Restart-Watcher $Run
            & $End
            Write-Said $Run "${Why}: programs that watch it were restarted"
        }
    }
    catch { $failed = $_ }
    finally { $lock.ReleaseMutex(); $lock.Dispose() }
    if ($failed) {
        Write-Said $Run "$Cause ${Subject}: $($failed.Exception.GetBaseException().Message)"
        Start-ScheduledTask -TaskName 'mullion'
    }
}
