# Scheduled tasks that run as SYSTEM.

$TaskBegin = [DateTime] '2020-01-01'    # a repetition needs a start in the past
$TaskMinutes = 15    # limit of a repeated task: Windows ends one that hangs, and so lets it start again
$TaskPriority = 4    # normal priority; the default 7 is below normal (learn.microsoft.com, TaskSettings.Priority)

# .SYNOPSIS
# Return the task's name; the prefix keeps it apart from other tasks and from the loader's (mullion).
function Get-TaskName {
    [CmdletBinding()]
    param($Step)
    "mullion-$($Step['task'])"
}

# .SYNOPSIS
# Return the arguments of the task's program as one string.
function Get-TaskArgument {
    [CmdletBinding()]
    param($Step)
    @($Step['command'] | Select-Object -Skip 1 | ForEach-Object { ConvertTo-Argument $_ }) -join ' '
}

# .SYNOPSIS
# Return whether the trigger is the schedule (boot, every_minutes). Intervals compare as durations: PT60M is PT1H.
function Test-Trigger {
    [CmdletBinding()]
    param($Trigger, $Schedule)
    $interval = if ($Trigger.Repetition) { $Trigger.Repetition.Interval }
    if ($Schedule['boot']) { return $Trigger.CimClass.CimClassName -eq 'MSFT_TaskBootTrigger' -and -not $interval }
    $interval -and [Xml.XmlConvert]::ToTimeSpan($interval).TotalMinutes -eq $Schedule['every_minutes']
}

# .SYNOPSIS
# Return the longest time of one run; zero, which is without end, for a task that runs at boot.
function Get-TaskLimit {
    [CmdletBinding()]
    param($Step)
    if ($Step['schedule']['boot']) { [TimeSpan]::Zero } else { [TimeSpan]::FromMinutes($TaskMinutes) }
}

# .SYNOPSIS
# Return whether the name or SID is SYSTEM's. Windows returns a task's account by its name in the language of the image
# (chef/win32-taskscheduler#68).
function Test-SystemAccount {
    [CmdletBinding()]
    param([string] $Account)
    if ($Account -in 'SYSTEM', $System) { return $true }
    try { $sid = [Security.Principal.NTAccount]::new($Account).Translate([Security.Principal.SecurityIdentifier]) }
    catch { return $false }    # no such account
    $sid.Value -eq $System
}

# .SYNOPSIS
# Return whether the task is registered as planned and enabled.
function Test-TaskStep {
    [CmdletBinding()]
    param($Run, $Step)
    $task = Get-ScheduledTask -TaskName (Get-TaskName $Step) -ErrorAction Ignore
    if (-not $task -or "$($task.State)" -eq 'Disabled') { return $false }
    if (-not (Test-SystemAccount $task.Principal.UserId)) { return $false }
    $actions, $triggers = @($task.Actions), @($task.Triggers)
    if ($actions.Count -ne 1 -or $triggers.Count -ne 1 -or $task.Settings.Priority -ne $TaskPriority) { return $false }
    $limit = $task.Settings.ExecutionTimeLimit    # empty if the task's XML has none
    if (-not $limit -or [Xml.XmlConvert]::ToTimeSpan($limit) -ne (Get-TaskLimit $Step)) { return $false }
    $actions[0].Execute -eq $Step['command'][0] -and [string] $actions[0].Arguments -ceq (Get-TaskArgument $Step) -and
    (Test-Trigger $triggers[0] $Step['schedule'])
}

# .SYNOPSIS
# Register the task again; a run in progress continues.
function Set-TaskStep {
    [CmdletBinding()]
    param($Run, $Step)
    $action = @{ Execute = $Step['command'][0] }
    $arguments = Get-TaskArgument $Step
    if ($arguments) { $action['Argument'] = $arguments }
    $schedule = $Step['schedule']
    $trigger = if ($schedule['boot']) { @{ AtStartup = $true } } else {
        @{ Once = $true; At = $TaskBegin; RepetitionInterval = [TimeSpan]::FromMinutes($schedule['every_minutes']) }
    }
    $settings = @{
        Priority = $TaskPriority; ExecutionTimeLimit = Get-TaskLimit $Step; MultipleInstances = 'IgnoreNew'
    }
    $task = @{
        TaskName = Get-TaskName $Step; Settings = New-ScheduledTaskSettingsSet @settings
        Action = New-ScheduledTaskAction @action; Trigger = New-ScheduledTaskTrigger @trigger
        Principal = New-ScheduledTaskPrincipal -UserId 'SYSTEM' -LogonType ServiceAccount -RunLevel Highest
    }
    if ($Step['description']) { $task['Description'] = $Step['description'] }
    [void](Register-ScheduledTask @task -Force)
}
