# Makes this machine the node that plan.json describes: test, then set, step by step, again at every boot.
# Reads plan.json beside it and the loader's machine.json; writes result.json (phase, step, code, message, timings;
# never a secret). Exit code 0: the plan is true, or the machine restarts. 1: a step failed; the result names the code.
[CmdletBinding()]
param()
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'    # it slows downloads down by much

. (Join-Path $PSScriptRoot 'loader.ps1') -Functions
foreach ($module in 'run', 'files', 'archive', 'services', 'system', 'network') {
    . (Join-Path $PSScriptRoot "modules\$module.ps1")
}

$Format = 1
$Tries = 4
$Waits = 2, 5, 10, 20, 40

# Kinds of step, and the noun of their Test- and Set- functions.
$Kinds = @{
    'directory' = 'Directory'; 'artifact' = 'Artifact'; 'archive' = 'Archive'; 'file' = 'File'; 'secret' = 'Secret'
    'certificate-authority' = 'CertificateAuthority'; 'environment' = 'Environment'; 'service' = 'Service'
    'command' = 'Command'; 'wait' = 'Wait'; 'firewall-rule' = 'FirewallRule'; 'hostname' = 'Hostname'
    'reboot' = 'Reboot'; 'build' = 'Build'; 'registry' = 'Registry'; 'feature' = 'Feature'
    'port-range' = 'PortRange'; 'defender-exclusion' = 'DefenderExclusion'; 'metadata-route' = 'MetadataRoute'
    'source-vip' = 'SourceVip'
}

$Errors = @{}
foreach ($row in (Read-Json (Join-Path $PSScriptRoot 'errors.json'))['errors']) { $Errors[$row['name']] = $row }

# The name of errors.json that an error carries.
function Get-FailureName {
    [CmdletBinding()]
    param([Exception] $Exception)
    if ($Exception.Data.Contains('mullion')) { return $Exception.Data['mullion'] }
    $cause = $Exception.GetBaseException()
    if ($cause -is [IO.IOException] -or $cause -is [UnauthorizedAccessException]) { return 'file-failed' }
    'unexpected'
}

# A line for the log and the serial console; a machine without one has no less.
function Write-Said {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Text)
    $line = '{0:s}Z mullion: {1}' -f [DateTime]::UtcNow, (Hide-Secret $Run $Text)
    [IO.File]::AppendAllText("$State\node.log", "$line`r`n")
    try {
        $serial = New-Object IO.Ports.SerialPort 'COM1', 115200
        $serial.WriteTimeout = 1000
        $serial.Open()
        $serial.WriteLine($line)
        $serial.Dispose()
    }
    catch { [void] $_ }
}

# Test, set, test. Returns held or set.
function Invoke-Once {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Noun, $Step)
    if (& "Test-${Noun}Step" $Run $Step) { return 'held' }
    [void](& "Set-${Noun}Step" $Run $Step)
    if (& "Test-${Noun}Step" $Run $Step) { return 'set' }
    throw (New-Failure 'not-reached' "kind $($Step['kind']) was set, and still does not hold")
}

# Makes one step true; tries again, with growing waits, what may pass.
function Invoke-Step {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    if (-not $Kinds.ContainsKey($Step['kind'])) {
        throw (New-Failure 'kind-not-implemented' "kind $($Step['kind'])")
    }
    $tries = if ($null -ne $Step['retries']) { 1 + $Step['retries'] } else { $Tries }
    for ($attempt = 1; ; $attempt++) {
        try { return Invoke-Once $Run $Kinds[$Step['kind']] (Resolve-Reference $Run $Step) }
        catch {
            $name = Get-FailureName $_.Exception
            if ($name -eq 'reboot' -or -not $Errors[$name]['retry'] -or $attempt -ge $tries) { throw }
            $wait = $Waits[[Math]::Min($attempt, $Waits.Count) - 1]
            Write-Said $Run "$($Step['name']): $($_.Exception.Message); again in $wait s"
            Start-Sleep -Seconds $wait
        }
    }
}

# plan.json, if this executor can run it.
function Read-Plan {
    [CmdletBinding()]
    param()
    $plan = Read-Json (Join-Path $PSScriptRoot 'plan.json')
    if ($plan['format'] -ne $Format) {
        throw (New-Failure 'plan-format' "plan.json has format $($plan['format']), this executor reads $Format")
    }
    if (-not $plan['os'].StartsWith('windows')) { throw (New-Failure 'other-system' "the plan is for $($plan['os'])") }
    $plan
}

# Runs all phases, filling the result in; an error leaves phase and step where it happened.
function Invoke-Plan {
    [CmdletBinding()]
    param([hashtable] $Run, $Result)
    $plan = Read-Plan
    $Run.Told['registration'] = $plan['registration']
    foreach ($phase in $plan['phases']) {
        $done = New-Object Collections.ArrayList
        [void]$Result['phases'].Add(@{ name = $phase['name']; steps = $done })
        $Result['phase'] = $phase['name']
        foreach ($step in $phase['steps']) {
            $Result['step'] = $step['name']
            $watch = [Diagnostics.Stopwatch]::StartNew()
            $outcome = Invoke-Step $Run $step
            $seconds = [Math]::Round($watch.Elapsed.TotalSeconds, 3)
            [void]$done.Add(@{ name = $step['name']; outcome = $outcome; seconds = $seconds })
        }
    }
    [void](Update-Memory @{ reboots = 0 })
}

# The whole run; returns the exit code.
function Start-Node {
    [CmdletBinding()]
    param()
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $run = New-Run (Read-Json "$Mullion\machine.json")
    $result = New-Object Collections.Specialized.OrderedDictionary
    $result['bundle'], $result['state'], $result['code'] = (Split-Path $PSScriptRoot -Leaf), 'done', 0
    $result['started'] = [DateTime]::UtcNow.ToString('s') + 'Z'
    $result['phases'] = New-Object Collections.ArrayList
    $said = 'done'
    try {
        Invoke-Plan $run $result
        foreach ($key in 'phase', 'step') { $result.Remove($key) }
    }
    catch {
        $name = Get-FailureName $_.Exception
        if ($name -eq 'reboot') { $said = $result['state'] = 'reboot' }
        else {
            $result['state'], $result['code'], $result['name'] = 'failed', $Errors[$name]['code'], $name
            $result['message'] = Hide-Secret $run $_.Exception.Message
            $where = "phase $($result['phase']), step $($result['step'])"
            $said = "E$($result['code']) $name in ${where}: $($result['message'])"
        }
    }
    $result['seconds'] = [Math]::Round($watch.Elapsed.TotalSeconds, 3)
    Set-WholeFile "$State\result.json" $Utf8.GetBytes((ConvertTo-JsonText $result))
    Write-Said $run "$said, bundle $($result['bundle']), $($result['seconds']) s"
    [int] ($result['state'] -eq 'failed')
}

$me = New-Object Security.Principal.WindowsPrincipal ([Security.Principal.WindowsIdentity]::GetCurrent())
if (-not $me.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
    Write-Output "mullion: E$($Errors['not-privileged']['code']) not-privileged: run it as SYSTEM or an administrator"
    exit 1
}
$lock = New-Object Threading.Mutex $false, 'Global\mullion'
try { $mine = $lock.WaitOne(0) } catch [Threading.AbandonedMutexException] { $mine = $true }
if (-not $mine) {
    Write-Output "mullion: E$($Errors['locked']['code']) locked: another run is under way"
    exit 1
}
$code = Start-Node
$lock.ReleaseMutex()
exit $code
