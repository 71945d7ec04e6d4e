# Windows services: created, configured, started, and restarted when a file they read has changed.

$ServiceRoot = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services'
$RestartSeconds = 10
$PollSeconds = 2
$LogBytes = 50MB    # size at which nssm rotates a log
$Starts = @{ auto = 2; disabled = 4 }    # winsvc.h: SERVICE_AUTO_START, SERVICE_DISABLED

# .SYNOPSIS
# Return the registry values of a service step by path below the service: @{ path = @{ name = kind, data } }; empty
# data deletes the value. nssm runs programs that are not services; its settings are values too (nssm.cc, "Usage").
function Get-ServiceValue {
    [CmdletBinding()]
    param($Step)
    $words = @($Step['command'] | ForEach-Object { ConvertTo-Argument $_ })
    $map = $Step['environment']
    $variables = [string[]] @(if ($map) { $map.Keys | Sort-Object | ForEach-Object { "$_=$($map[$_])" } })
    $own = @{
        Start = 'DWord', (Get-ServiceStart $Step); ImagePath = 'ExpandString', ($words -join ' ')
        DependOnService = 'MultiString', [string[]] @($Step['depends'] | Where-Object { $_ })
    }
    if (-not $Step['wrapper']) {
        $own['Environment'] = 'MultiString', $variables
        return @{ '' = $own }
    }
    $own['ImagePath'] = 'ExpandString', (ConvertTo-Argument $Step['wrapper'])
    $inner = @{
        Application = 'ExpandString', $Step['command'][0]
        AppParameters = 'ExpandString', (@($words | Select-Object -Skip 1) -join ' ')
        AppDirectory = 'ExpandString', [IO.Path]::GetDirectoryName($Step['command'][0])
        AppRestartDelay = 'DWord', (1000 * (Get-RestartSecond $Step))
        AppEnvironmentExtra = 'MultiString', $variables
    }
    if ($Step['log']) {
        foreach ($name in 'AppStdout', 'AppStderr') { $inner[$name] = 'ExpandString', $Step['log'] }
        foreach ($name in 'AppRotateFiles', 'AppRotateOnline') { $inner[$name] = 'DWord', 1 }
        $inner['AppRotateBytes'] = 'DWord', $LogBytes
    }
    @{ '' = $own; '\Parameters' = $inner; '\Parameters\AppExit' = @{ '' = 'String', 'Restart' } }
}

# .SYNOPSIS
# Return SERVICE_AUTO_START, or SERVICE_DEMAND_START if this step starts the service at each boot (winsvc.h).
function Get-ServiceStart {
    [CmdletBinding()]
    param($Step)
    if ($Step['demand']) { 3 } else { 2 }
}

# .SYNOPSIS
# Return the seconds after which a failed service is restarted.
function Get-RestartSecond {
    [CmdletBinding()]
    param($Step)
    if ($null -ne $Step['restart_seconds']) { $Step['restart_seconds'] } else { $RestartSeconds }
}

# .SYNOPSIS
# Return the digest of each file in restarts_on; empty if the file does not exist.
function Get-WatchedDigest {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $digests = [ordered] @{}
    foreach ($path in $Step['restarts_on']) {
        $digests[$path] = if ([IO.File]::Exists($path)) { Get-FileDigest $Run $path 'sha256:' } else { '' }
    }
    $digests
}

# .SYNOPSIS
# Return whether the files are unchanged since this step started the service.
function Test-WatchedFile {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    if (-not $Step['restarts_on']) { return $true }
    $now = Get-WatchedDigest $Run $Step
    $started = (Update-Memory)['started']
    $then = if ($started) { $started[$Step['service']] }
    foreach ($path in $now.Keys) { if (-not $then -or $then[$path] -cne $now[$path]) { return $false } }
    $true
}

# .SYNOPSIS
# Return whether the service is marked for deletion: still running, or a program holds a handle to it.
function Test-DeletedService {
    [CmdletBinding()]
    param([string] $Name)
    (Get-RegistryValue "$ServiceRoot\$Name" 'DeleteFlag') -eq 1
}

# .SYNOPSIS
# Wait until a deleted service is gone; until then Windows refuses to create one with its name.
function Wait-DeletedService {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name)
    while (Test-DeletedService $Name) {
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            $what = 'close what shows services (services.msc, Task Manager), or restart the machine'
            throw (New-Failure 'service-failed' "$Name is deleted, and something still holds it open: $what")
        }
        Start-Sleep -Milliseconds 250
    }
}

# .SYNOPSIS
# Return whether the service has its values and, unless `start` is boot, runs.
function Test-ServiceStep {
    [CmdletBinding()]
    param($Run, $Step)
    if (Test-DeletedService $Step['service']) { return $false }
    $values = Get-ServiceValue $Step
    foreach ($path in $values.Keys) {
        foreach ($name in $values[$path].Keys) {
            $kind, $data = $values[$path][$name]
            if (-not (Test-RegistryValue "$ServiceRoot\$($Step['service'])$path" $name $kind $data)) { return $false }
        }
    }
    $runs = $Step['start'] -eq 'boot' -or (Wait-Settled $Run $Step['service']) -eq 'Running'
    $runs -and (Test-WatchedFile $Run $Step)
}

# .SYNOPSIS
# Stop the service if it runs, create or change it, then start it (with `start` boot: only if it ran).
function Set-ServiceStep {
    [CmdletBinding()]
    param($Run, $Step)
    $name, $values = $Step['service'], (Get-ServiceValue $Step)
    $before = Wait-Settled $Run $name
    if ($before -notin '', 'Stopped') { Stop-PlannedService $Run $name }
    Wait-DeletedService $Run $name
    $service = @{
        Name = $name; Command = $values['']['ImagePath'][1]; Depends = $values['']['DependOnService'][1]
        Description = $Step['description']; RestartSeconds = Get-RestartSecond $Step; Start = Get-ServiceStart $Step
    }
    if (Test-NativeBlocked) { Set-PlainService $Run @service } else { Set-ScmService @service }
    foreach ($path in $values.Keys) {
        foreach ($value in $values[$path].Keys) {
            $kind, $data = $values[$path][$value]
            Set-RegistryValue "$ServiceRoot\$name$path" $value $kind $data
        }
    }
    if ($Step['log']) { [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($Step['log'])) }
    $digests = Get-WatchedDigest $Run $Step
    if ($Step['start'] -ne 'boot' -or $before -eq 'Running') { Start-PlannedService $Run $name }
    if ($digests.Count) {
        $started = (Update-Memory)['started']
        if (-not $started) { $started = [ordered] @{} }
        $started[$name] = $digests
        [void](Update-Memory @{ started = $started })
    }
}

# .SYNOPSIS
# Return whether triggers start or stop the service. On a machine outside a domain a trigger stops the time service
# right after each boot (Microsoft KB 2385818).
function Test-ServiceTrigger {
    [CmdletBinding()]
    param([string] $Name)
    $open = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey("SYSTEM\CurrentControlSet\Services\$Name\TriggerInfo")
    if (-not $open) { return $false }
    try { $open.SubKeyCount -gt 0 } finally { $open.Dispose() }
}

# .SYNOPSIS
# Return whether a service of Windows has the planned start type and state; one that starts at boot has no triggers.
function Test-SystemServiceStep {
    [CmdletBinding()]
    param($Run, $Step)
    $state = if ($Step['start'] -eq 'auto') { 'Running' } else { 'Stopped' }
    (Get-RegistryValue "$ServiceRoot\$($Step['service'])" 'Start') -eq $Starts[$Step['start']] -and
    (Get-ServiceState $Step['service']) -eq $state -and
    ($state -eq 'Stopped' -or -not (Test-ServiceTrigger $Step['service']))
}

# .SYNOPSIS
# Set the start type and remove triggers, then start or stop the service.
function Set-SystemServiceStep {
    [CmdletBinding()]
    param($Run, $Step)
    $name, $now = $Step['service'], (Get-ServiceState $Step['service'])
    if (-not $now) { throw (New-Failure 'service-failed' "this Windows has no service $name") }
    Set-StartType $name $Starts[$Step['start']]
    if ($Step['start'] -eq 'auto' -and (Test-ServiceTrigger $name)) {
        [void](& sc.exe triggerinfo $name delete)
    }
    if ($Step['start'] -eq 'disabled') { if ($now -ne 'Stopped') { Stop-PlannedService $Run $name } }
    elseif ($now -ne 'Running') { Start-PlannedService $Run $name }
}
