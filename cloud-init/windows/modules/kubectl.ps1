# Runs kubectl, once or until its output is as expected.

# .SYNOPSIS
# Run kubectl and return its output as text; empty if it fails.
function Invoke-Kubectl {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Program, [string[]] $Arguments)
    $asked = @{
        Program = $Program; Arguments = $Arguments + '--request-timeout=15s'
        TimeoutSeconds = [Math]::Min(60, (Get-SecondsLeft $Run)); AllowFailure = $true
    }
    $answer = Invoke-Program @asked
    if ($answer.Code) { return '' }
    $answer.Output.Trim()
}

# .SYNOPSIS
# Poll until Test-<Noun>Step returns $true; after the timeout throw a failure with the last observation.
function Wait-Asked {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, [string] $Noun, [string] $Name)
    while (-not (& "Test-${Noun}Step" $Run $Step)) {
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            throw (New-Failure $Name "$($Run.Seen), and that did not change within $($Run.Limit) s")
        }
        Wait-Poll $Run
    }
}
