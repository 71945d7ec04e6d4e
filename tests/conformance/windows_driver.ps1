# Does jobs on a machine, one after the other, in one process: runs of the executor as the boot task starts it, and the
# set-up and reading of a case's state. A job is C:\jobs\job.json, its answer C:\jobs\answer.json.
# A power cut is the end of this process at a call of one of the executor's commands.

$Node = "$env:ProgramFiles\mullion\bundles\b\node.ps1"
$Boots = 'HKEY_LOCAL_MACHINE\SOFTWARE\mullion-boot'
$Names = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\ComputerName'
$Path = $env:PATH
$global:Notes = [Collections.ArrayList]::new()

# Removes all routes to addresses in the wait that the case names, as HNS does up to 45 s after it made a network.
function global:Remove-RouteInWait {
    $place, $routes = "$env:MULLION_FAKES\waits.json", "$env:MULLION_FAKES\routes.json"
    if (-not [IO.File]::Exists($place)) { return }
    $book = ConvertFrom-Json ([IO.File]::ReadAllText($place)) -AsHashtable
    $book.left--
    [IO.File]::WriteAllText($place, (ConvertTo-Json $book))
    if ($book.left -eq 0) { [IO.File]::WriteAllText($routes, '{}') }
}

# Replaces Start-Sleep: shortens long waits and records waits between tries.
function global:Start-Sleep {
    param([int] $Seconds, [int] $Milliseconds)
    Remove-RouteInWait
    if ((Get-PSCallStack)[1].FunctionName -eq 'Invoke-Step') { [void]$Notes.Add(@('wait', $Seconds)); return }
    [Threading.Thread]::Sleep(50)
}

# Simulates flanneld: creates its network and its file at the start of its service that the case names. The executor,
# which calls this, has Send-HnsRequest.
function global:Start-Flannel([string] $Name) {
    $place = "$env:MULLION_FAKES\flannel.json"
    if (-not [IO.File]::Exists($place)) { return }
    $flannel = ConvertFrom-Json ([IO.File]::ReadAllText($place)) -AsHashtable
    if ($Name -ne $flannel.service) { return }
    $flannel.left--
    [IO.File]::WriteAllText($place, (ConvertTo-Json $flannel -Depth 9))
    if ($flannel.left -ne 0) { return }
    [void](Send-HnsRequest 'POST' 'networks' -Body $flannel.network)
    [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($flannel.path))
    [IO.File]::WriteAllText($flannel.path, $flannel.text)
}

function Stop-Power { [Diagnostics.Process]::GetCurrentProcess().Kill() }

# Actions before each call of a command of the executor, by command. Breakpoints would also work, but while one is set
# PowerShell runs all code unoptimised: a second run of a node took a quarter more CPU time.
$global:Watched = @{}

# Actions get the arguments of the call. Code called with & does not see its own alias, so each command gets a function.
function Watch-Command([string] $Name, [scriptblock] $Action) {
    $global:Watched[$Name] = @($Watched[$Name] | Where-Object { $_ }) + $Action
    $body = "foreach (`$action in `$Watched['$Name']) { & `$action @args }`n" +
        "& `$ExecutionContext.InvokeCommand.GetCommand('$Name', 'Function') @args"
    Set-Item -Path "Function:\global:Watched$Name" -Value ([scriptblock]::Create($body))
    Set-Alias -Name $Name -Value "Watched$Name" -Scope Global
}

function Clear-Watched {
    foreach ($name in $Watched.Keys) { Remove-Item "Alias:\$name" }
    $Watched.Clear()
}

# Kills this process at the given call of a command within the step, counted from when the step began to set.
function Set-Cut([hashtable] $Cut) {
    $global:Cut = $Cut
    $global:Setting = $false
    $global:Hits = 0
    Watch-Command $Cut.begin { if ($Result['step'] -eq $Cut.step) { $global:Setting = $true } }
    Watch-Command $Cut.command {
        if ($Setting -and $Result['step'] -eq $Cut.step -and ++$global:Hits -eq $Cut.hit) { Stop-Power }
    }
}

# Kills this process at the end of one of the phases.
function Set-PhaseCut([string[]] $Phases) {
    $global:Phases = $Phases
    Watch-Command 'Invoke-Phase' { if ($Result['phase'] -in $Phases) { Stop-Power } }
}

# Kills this process after the first step outside $Spared was set, before it is tested or recorded.
function Set-StepCut([string[]] $Spared) {
    $global:Spared, $global:Tests = $Spared, @{}
    Watch-Command 'Test-Step' {
        $name = $Result['step']
        if ($name -in $Spared -or ++$Tests[$name] -lt 2) { return }
        [IO.File]::WriteAllText('C:\jobs\cut', $name)
        Stop-Power
    }
}

function Invoke-RunJob([hashtable] $Job) {
    $global:Notes.Clear()
    if ($Job.home) {
        $env:ProgramData = "$($Job.home)\data"
        $env:PATH = "$($Job.home)\programs;$Path"
    }
    $env:MULLION_FAKES = $Job.fakes
    Clear-Watched
    Watch-Command 'New-StartInfo' { [void]$Notes.Add(@('program', (@($args[0]) + $args[1] -join ' '))) }
    Watch-Command 'Start-PlannedService' { [void]$Notes.Add(@('start', $args[1])); Start-Flannel $args[1] }
    if ($Job.cut) { Set-Cut $Job.cut }
    if ($Job.phases) { Set-PhaseCut $Job.phases }
    if ($Job.spared) { Set-StepCut $Job.spared }
    if ($Job.meet) {
        $meet = {
            if ([IO.File]::Exists('C:\jobs\met')) { return }
            [IO.File]::WriteAllText('C:\jobs\met', '')
            while (-not [IO.File]::Exists('C:\jobs\go')) { [Threading.Thread]::Sleep(20) }
        }
        foreach ($noun in $Job.meet) { Watch-Command "Set-${noun}Step" $meet }
    }
    $out, $console, $errors = [IO.StringWriter]::new(), [Console]::Out, [Console]::Error
    [Console]::SetOut($out)
    [Console]::SetError($out)
    try { $said = & $Node -Check:([bool] $Job.check) *>&1 | Out-String } catch { $said = "$_ $($_.ScriptStackTrace)" }
    finally { [Console]::SetOut($console); [Console]::SetError($errors) }
    @{ exit = $LASTEXITCODE; output = $said + $out.ToString(); notes = @($global:Notes) }
}

function Set-Service([string] $Name, [string] $State) {
    $there = [ServiceProcess.ServiceController]::GetServices() | Where-Object { $_.ServiceName -eq $Name }
    if (-not $there) { return }
    if ($State -eq 'running') { if ("$($there.Status)" -ne 'Running') { $there.Start(); $there.WaitForStatus('Running', '00:00:20') } }
    elseif ("$($there.Status)" -ne 'Stopped') { $there.Stop(); $there.WaitForStatus('Stopped', '00:00:20') }
    if ($State -eq 'absent') { sc.exe delete $Name | Out-Null }
}

function Set-Value([string] $Key, [string] $Name, $Value) {
    if ($Value) {
        $data = switch ($Value.type) {
            'MultiString' { , [string[]] @($Value.data) }
            'DWord' { [BitConverter]::ToInt32([BitConverter]::GetBytes([uint32] $Value.data), 0) }
            'QWord' { [long] $Value.data }
            'Binary' { , [Convert]::FromBase64String($Value.data) }
            default { [string] $Value.data }
        }
        return [Microsoft.Win32.Registry]::SetValue($Key, $Name, $data, $Value.type)
    }
    $open = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($Key.Substring(19), $true)
    if ($open) { $open.DeleteValue($Name, $false); $open.Dispose() }
}

function Get-Value([string] $Key, [string] $Name) {
    $open = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($Key.Substring(19))
    if (-not $open) { return }
    $data = $open.GetValue($Name, $null, 'DoNotExpandEnvironmentNames')
    if ($null -eq $data) { return }
    $kind = "$($open.GetValueKind($Name))"
    if ($kind -eq 'Binary') { $data = [Convert]::ToBase64String($data) }
    if ($kind -eq 'DWord') { $data = [BitConverter]::ToUInt32([BitConverter]::GetBytes($data), 0) }
    @{ type = $kind; data = $data }
}

function Invoke-ArrangeJob([hashtable] $Job) {
    $env:MULLION_FAKES = $Job.fakes
    foreach ($name in $Job.services.Keys) { Set-Service $name $Job.services[$name] }
    foreach ($each in $Job.values) { Set-Value $each.key $each.name $each.value }
    foreach ($name in $Job.variables.Keys) {
        foreach ($reach in 'Machine', 'Process') { [Environment]::SetEnvironmentVariable($name, $Job.variables[$name], $reach) }
    }
    if ($Job.boot) {
        $boot = 1 + [int] [Microsoft.Win32.Registry]::GetValue($Boots, 'Id', 0)
        [Microsoft.Win32.Registry]::SetValue($Boots, 'Id', $boot)
        $name = [Microsoft.Win32.Registry]::GetValue("$Names\ComputerName", 'ComputerName', '')
        [Microsoft.Win32.Registry]::SetValue("$Names\ActiveComputerName", 'ComputerName', $name)
    }
    @{}
}

function Invoke-LookJob([hashtable] $Job) {
    $found = @{ services = @{}; values = @(); variables = @{} }
    foreach ($name in $Job.services) {
        $there = [ServiceProcess.ServiceController]::GetServices() | Where-Object { $_.ServiceName -eq $name }
        $found.services[$name] = if ($there) { "$($there.Status)".ToLowerInvariant() } else { 'absent' }
    }
    foreach ($each in $Job.values) { $found.values += , (Get-Value $each.key $each.name) }
    foreach ($name in $Job.variables) { $found.variables[$name] = [Environment]::GetEnvironmentVariable($name, 'Machine') }
    $found
}

$handlers = @{ run = 'Invoke-RunJob'; arrange = 'Invoke-ArrangeJob'; look = 'Invoke-LookJob' }
for (; ; ) {
    if (-not [IO.File]::Exists('C:\jobs\job.json')) { [Threading.Thread]::Sleep(10); continue }
    $job = ConvertFrom-Json ([IO.File]::ReadAllText('C:\jobs\job.json')) -AsHashtable
    [IO.File]::Delete('C:\jobs\job.json')
    if ($job.kind -eq 'end') { exit 0 }
    try { $answer = & $handlers[$job.kind] $job } catch { $answer = @{ broken = "$_ $($_.ScriptStackTrace)" } }
    [IO.File]::WriteAllText('C:\jobs\answer.new', (ConvertTo-Json $answer -Depth 9))
    [IO.File]::Move('C:\jobs\answer.new', 'C:\jobs\answer.json')
}
