# Configures this machine as the node in plan.json: tests each step, then applies it if the test fails, at every boot.
# Reads plan.json beside it and the loader's machine.json; writes result.json (phase, step, code, message, timings;
# never a secret). Exit code 0: the plan is applied, or the machine restarts. 1: a step failed; the result has the code.
# -Check changes nothing: it prints the result (held, would-set) as one line of JSON; 0: nothing to set, 2: something.
[CmdletBinding()]
param([switch] $Check)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'    # the progress bar slows cmdlets of Windows down

. "$PSScriptRoot\loader.ps1" -Functions
. "$PSScriptRoot\load-modules.ps1"

$Format = 1

# .SYNOPSIS
# Read plan.json; throw if this executor cannot run it.
function Read-Plan {
    [CmdletBinding()]
    param()
    $plan = Read-Json "$PSScriptRoot\plan.json"
    if ($plan['format'] -ne $Format) {
        throw (New-Failure 'plan-format' "plan.json has format $($plan['format']), this executor reads $Format")
    }
    if (-not $plan['os'].StartsWith('windows')) { throw (New-Failure 'other-system' "the plan is for $($plan['os'])") }
    $plan
}

# .SYNOPSIS
# Run all phases and fill in the result; after an error it has the phase and step of the error.
function Invoke-Plan {
    [CmdletBinding()]
    param([hashtable] $Run, $Result)
    if (-not $Run.Checking) { Save-Beginning }
    $plan = Read-Plan
    $Run.Told['registration'] = $plan['registration']
    $Run.Kubernetes = $plan['kubernetes']
    if ($plan['egress']) { $Run.Egress = $plan['egress'] }
    Send-Status $Run $Result 'running'
    Save-Epoch $Run
    foreach ($phase in $plan['phases']) {
        Invoke-Phase $Run $phase $Result
        $Run.Reached = if ($phase['reports']) { $phase['reports'] } else { 'ready' }
        if ($phase['reports']) { Send-Status $Run $Result $Run.Reached }
    }
    if (-not $Run.Checking) { Save-Finish }
    foreach ($key in 'phase', 'step') { $Result.Remove($key) }
}

# .SYNOPSIS
# Run the plan and return the result.
function Start-Node {
    [CmdletBinding()]
    param()
    $run = New-Run (Read-Json "$Mullion\machine.json") $Check
    $Site.Facts = $run.Told.facts
    $result = [ordered] @{
        bundle = [IO.Path]::GetFileName($PSScriptRoot); state = $(if ($Check) { 'checked' } else { 'done' }); code = 0
        started = '{0:s}Z' -f [DateTime]::UtcNow; phase = $null; step = $null; phases = [Collections.ArrayList]::new()
    }
    try { [void](Invoke-Plan $run $result) }
    catch {
        $failure = Get-Failure $_.Exception
        if ($failure.Name -eq 'reboot') { $result['state'] = 'reboot' }
        else {
            $result['state'], $result['code'] = 'failed', (Get-ErrorRow $failure.Name)['code']
            $result['name'], $result['message'] = $failure.Name, (Hide-Secret $run $failure.Message)
        }
    }
    Write-Result $run $result
    if ($result['state'] -eq 'reboot') { Restart-Machine $run }
    $result
}

# .SYNOPSIS
# Return the exit code for a result.
function Get-ExitCode {
    [CmdletBinding()]
    param($Result)
    if ($Result['state'] -eq 'failed') { return 1 }
    $outcomes = foreach ($phase in $Result['phases']) { foreach ($step in $phase['steps']) { $step['outcome'] } }
    if ($outcomes -contains 'would-set') { 2 } else { 0 }
}

$me = [Security.Principal.WindowsPrincipal]::new([Security.Principal.WindowsIdentity]::GetCurrent())
if (-not $me.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
    $code = (Get-ErrorRow 'not-privileged')['code']
    [Console]::Error.WriteLine("mullion: E$code not-privileged: run it as SYSTEM or an administrator")
    exit 1
}
$lock = [Threading.Mutex]::new($false, 'Global\mullion')
# A look of the network watch holds it for some seconds, and the loader's next try is a minute away.
for ($tries = 5; ; $tries--) {
    try { $mine = $lock.WaitOne(0) } catch [Threading.AbandonedMutexException] { $mine = $true }
    if ($mine -or -not $tries) { break }
    Start-Sleep -Seconds 2
}
if (-not $mine) {
    [Console]::Error.WriteLine("mullion: E$((Get-ErrorRow 'locked')['code']) locked: another run is under way")
    exit 1
}
try { $code = Get-ExitCode (Start-Node) }
finally {
    $lock.ReleaseMutex()
    $lock.Dispose()
}
exit $code
