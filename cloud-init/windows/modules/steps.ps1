# Steps: test, set, test again; temporary failures are retried with growing waits.

$Retries = 3
$Waits = 2, 5, 10, 20, 40

# .SYNOPSIS
# Return the step with resolved references and checked fields; start its timeout.
function Get-ReadyStep {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    if (-not $Kinds.ContainsKey($Step['kind'])) { throw (New-Failure 'kind-not-implemented' "kind $($Step['kind'])") }
    $ready = Resolve-Reference $Run $Step
    Assert-Field $Run $ready
    $Run.Watch.Restart()
    $Run.Limit = if ($ready['timeout_seconds']) { $ready['timeout_seconds'] } else { $Kinds[$ready['kind']][0] }
    $ready
}

# .SYNOPSIS
# Return whether a resolved step holds.
function Test-Step {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    & "Test-$(Get-KindNoun $Step['kind'])Step" $Run $Step
}

# .SYNOPSIS
# Test, set and test again; return held or set. A call that hangs ends the process.
function Invoke-Once {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $ready = Get-ReadyStep $Run $Step
    $end = New-Deadline ($Run.Limit + $StuckSeconds)
    try {
        if (Test-Step $Run $ready) { return 'held' }
        [void](& "Set-$(Get-KindNoun $Step['kind'])Step" $Run $ready)
        if (Test-Step $Run $ready) { return 'set' }
    }
    finally { $end.Dispose() }
    throw (New-Failure 'not-reached' "kind $($Step['kind']) was set, and still does not hold")
}

# .SYNOPSIS
# Apply one step with retries; return held or set. One call that HNS does not answer in time says nothing: HNS may only
# be slow. If the next try has one too, HNS hangs, and is restarted before the try after that.
function Invoke-Step {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $retries = if ($null -ne $Step['retries']) { $Step['retries'] } else { $Retries }
    $silent = $false    # whether HNS did not answer a call of the last try
    for ($attempt = 0; ; $attempt++) {
        try { return Invoke-Once $Run $Step }
        catch {
            $failure = Get-Failure $_.Exception
            $again, $silent = $silent, [bool] $_.Exception.Data['hns-silent']
            if ($again -and $silent -and -not (Restart-Hns $Run $failure.Message)) { throw }
            if ($failure.Name -eq 'reboot' -or $attempt -ge $retries) { throw }
            if (-not (Get-ErrorRow $failure.Name)['retry']) { throw }
            $wait = $Waits[[Math]::Min($attempt, $Waits.Count - 1)]
            Write-Said $Run "$($Step['name']): $($failure.Message); again in $wait s"
            # Discard cached values, which may be outdated; keep values recorded by probes.
            $Run.Stored.Clear()
            foreach ($key in 'address', 'provider_id') { $Run.Found.Remove($key) }
            Start-Sleep -Seconds $wait
            Repair-MetadataRoute $Run
        }
    }
}

# .SYNOPSIS
# Return held or would-set; also would-set if the test needs an earlier step to be set.
function Test-StepOnly {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    try { if (Test-Step $Run (Get-ReadyStep $Run $Step)) { return 'held' } }
    catch {
        $failure = Get-Failure $_.Exception
        if (-not (Get-ErrorRow $failure.Name)['retry'] -and $failure.Name -ne 'wait-timeout') { throw }
    }
    'would-set'
}

# .SYNOPSIS
# Run a phase; $Steps gets the outcome of each step. After an error the result has its phase and step.
function Invoke-Phase {
    [CmdletBinding()]
    param([hashtable] $Run, $Phase, $Result)
    $done = [Collections.ArrayList]::new()
    [void]$Result['phases'].Add([ordered] @{ name = $Phase['name']; steps = $done })
    $Result['phase'] = $Phase['name']
    $Run.Fetched = $null
    foreach ($step in $Phase['steps']) {
        $Result['step'] = $step['name']
        $watch = [Diagnostics.Stopwatch]::StartNew()
        if ($Run.Checking) { $outcome = Test-StepOnly $Run $step }
        else {
            if ($step['kind'] -eq 'artifact' -and $null -eq $Run.Fetched) { Save-PhaseArtifact $Run $Phase }
            $outcome = Invoke-Step $Run $step
        }
        $seconds = [Math]::Round($watch.Elapsed.TotalSeconds, 3)
        [void]$done.Add([ordered] @{ name = $step['name']; outcome = $outcome; seconds = $seconds })
    }
}
