# Steps: test, then set, then test; again with growing waits what may pass.

$Retries = 3
$Waits = 2, 5, 10, 20, 40

# .SYNOPSIS
# The step with its references filled in and its fields checked; its time begins.
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
# Whether a ready step holds.
function Test-Step {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    & "Test-$(Get-KindNoun $Step['kind'])Step" $Run $Step
}

# .SYNOPSIS
# Test, set, test. Returns held or set.
function Invoke-Once {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $ready = Get-ReadyStep $Run $Step
    if (Test-Step $Run $ready) { return 'held' }
    [void](& "Set-$(Get-KindNoun $Step['kind'])Step" $Run $ready)
    if (Test-Step $Run $ready) { return 'set' }
    throw (New-Failure 'not-reached' "kind $($Step['kind']) was set, and still does not hold")
}

# .SYNOPSIS
# Makes one step true; returns held or set.
function Invoke-Step {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $retries = if ($null -ne $Step['retries']) { $Step['retries'] } else { $Retries }
    for ($attempt = 0; ; $attempt++) {
        try { return Invoke-Once $Run $Step }
        catch {
            $failure = Get-Failure $_.Exception
            if ($failure.Name -eq 'reboot' -or $attempt -ge $retries) { throw }
            if (-not (Get-ErrorRow $failure.Name)['retry']) { throw }
            $wait = $Waits[[Math]::Min($attempt, $Waits.Count - 1)]
            Write-Said $Run "$($Step['name']): $($failure.Message); again in $wait s"
            # What was found out before may not be so any more; what probes recorded stays.
            $Run.Stored.Clear()
            foreach ($key in 'address', 'provider_id') { $Run.Found.Remove($key) }
            Start-Sleep -Seconds $wait
        }
    }
}

# .SYNOPSIS
# What would become of the step: held or would-set. What cannot be told before an earlier step is set would be set.
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
# Runs a phase; $Steps gets the outcome of each step. An error leaves phase and step of the result where it happened.
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
