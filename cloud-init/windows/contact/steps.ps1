# The plan's steps that need no cluster: tested, set, and tested again.

# .SYNOPSIS
# Return the name of a row about a step.
function Get-StepTitle {
    [CmdletBinding()]
    param($Step, [string] $When)
    "step $($Step['name']) ($($Step['kind'])), $When"
}

# .SYNOPSIS
# Test every step. At first a step may also need to be set; after the set it must hold.
function Test-Steps {
    [CmdletBinding()]
    param([hashtable] $Run, $Wanted, [string] $When)
    $first = $When -eq 'asked'
    foreach ($phase in $Wanted['phases']) {
        foreach ($step in $phase['steps']) {
            if (-not $first -and $step['name'] -in $Progress['failed']) { continue }
            $watch, $said, $later = [Diagnostics.Stopwatch]::StartNew(), '', $false
            try { $said = if (Test-Step $Run (Get-ReadyStep $Run $step)) { 'held' } else { 'would-set' } }
            catch {
                $failure = Get-Failure $_.Exception
                $said = Get-FailureText $_.Exception
                # an earlier step creates the object of this test; the executor's check reports would-set then
                $row = Get-ErrorRow $failure.Name
                $later = $failure.Name -in 'wait-timeout', 'reference-unresolved' -or ($row -and $row['retry'])
            }
            $expected = if ($first) { 'held or would-set' } else { 'held' }
            $fits = $said -eq 'held' -or ($first -and ($said -eq 'would-set' -or $later))
            Add-Row (Get-StepTitle $step $When) $expected $said $fits $watch.Elapsed.TotalSeconds
        }
    }
}

# .SYNOPSIS
# Set every step, from the one at which an earlier start stopped; return $false if the machine must restart first.
function Set-Steps {
    [CmdletBinding()]
    param([hashtable] $Run, $Wanted)
    $place = 0
    foreach ($phase in $Wanted['phases']) {
        $Run.Fetched = $null
        foreach ($step in $phase['steps']) {
            $place++
            if ($place -le $Progress['next']) { continue }
            if ($step['kind'] -eq 'reboot' -and -not $Progress['restarted'] -and -not (Test-Step $Run $step)) {
                $Progress['restarted'], $Progress['boot'], $Progress['up'] = $true, (Get-BootId), (Get-UpTick)
                Save-Progress
                Start-Resume
                return $false
            }
            if ($step['kind'] -eq 'artifact' -and $null -eq $Run.Fetched) { Save-PhaseArtifact $Run $phase }
            Set-OneStep $Run $step
            $Progress['next'] = $place
            Save-Progress
        }
    }
    $true
}

# .SYNOPSIS
# Set one step as the executor does, with its retries; record how to undo it. An error ends only this step.
function Set-OneStep {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $back = try { @(Get-Undo (Resolve-Reference $Run $Step)) } catch { @() }
    try { $said = Invoke-Step $Run $Step }
    catch {
        $said = Get-FailureText $_.Exception
        [void]$Progress['failed'].Add($Step['name'])
    }
    if ($said -ne 'held') {
        [void]$Progress['changes'].Add([ordered] @{ step = $Step['name']; kind = $Step['kind']; undo = $back })
        Write-Undo
    }
    $fits = $said -in 'held', 'set'
    Add-Row (Get-StepTitle $Step 'set') 'held or set' $said $fits $watch.Elapsed.TotalSeconds
}

# .SYNOPSIS
# Let the loader's boot task start this script after the restart.
function Start-Resume {
    [CmdletBinding()]
    param()
    $again = "& '$PSScriptRoot\run.ps1' -Resume`r`nexit `$LASTEXITCODE`r`n"
    Set-WholeFile "$Contact\resume.ps1" $Utf8.GetBytes($again)
    Start-BootTask "$Contact\resume.ps1"
}

# .SYNOPSIS
# Remove the boot task.
function Stop-BootTask {
    [CmdletBinding()]
    param()
    if (Get-ScheduledTask -TaskName 'mullion' -ErrorAction Ignore) {
        Unregister-ScheduledTask -TaskName 'mullion' -Confirm:$false
    }
}

# .SYNOPSIS
# Check that the downloaded programs start on this Windows and say their versions.
function Test-Programs {
    [CmdletBinding()]
    param($Wanted)
    foreach ($program in $Wanted['programs']) {
        Invoke-Check "program $($program['argv'] -join ' ')" ".*$([regex]::Escape($program['says'])).*" -Like {
            $words = @($program['argv'] | Select-Object -Skip 1)
            (Invoke-Program $program['argv'][0] $words -TimeoutSeconds 60).Output -replace '\s+', ' '
        }
    }
}
