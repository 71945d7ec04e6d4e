# Tasks of the task scheduler that SYSTEM runs.

$TaskBegin = [DateTime] '2020-01-01'    # a repetition needs a beginning; the clock has no part in it

# .SYNOPSIS
# The task's name: apart from others', and from the loader's own.
function Get-TaskName {
    [CmdletBinding()]
    param($Step)
    "mullion-$($Step['task'])"
}

# .SYNOPSIS
# The arguments of the task's program as one text.
function Get-TaskArgument {
    [CmdletBinding()]
    param($Step)
    @($Step['command'] | Select-Object -Skip 1 | ForEach-Object { ConvertTo-Argument $_ }) -join ' '
}

# .SYNOPSIS
# Whether the trigger is the schedule: at boot, or every so many minutes. Intervals compare as times: PT60M is PT1H.
function Test-Trigger {
    [CmdletBinding()]
    param($Trigger, $Schedule)
    $interval = if ($Trigger.Repetition) { $Trigger.Repetition.Interval }
    if ($Schedule['boot']) { return $Trigger.CimClass.CimClassName -eq 'MSFT_TaskBootTrigger' -and -not $interval }
    $interval -and [Xml.XmlConvert]::ToTimeSpan($interval).TotalMinutes -eq $Schedule['every_minutes']
}

# .SYNOPSIS
# Whether the task is registered as wanted and may run.
function Test-TaskStep {
    [CmdletBinding()]
    param($Run, $Step)
    $task = Get-ScheduledTask -TaskName (Get-TaskName $Step) -ErrorAction Ignore
    if (-not $task -or "$($task.State)" -eq 'Disabled') { return $false }
    if ($task.Principal.UserId -notin 'SYSTEM', $System) { return $false }
    $actions, $triggers = @($task.Actions), @($task.Triggers)
    if ($actions.Count -ne 1 -or $triggers.Count -ne 1) { return $false }
    $actions[0].Execute -eq $Step['command'][0] -and [string] $actions[0].Arguments -ceq (Get-TaskArgument $Step) -and
    (Test-Trigger $triggers[0] $Step['schedule'])
}

# .SYNOPSIS
# Registers the task anew; what runs now goes on.
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
    $settings = New-ScheduledTaskSettingsSet -ExecutionTimeLimit ([TimeSpan]::Zero) -MultipleInstances IgnoreNew
    $task = @{
        TaskName = Get-TaskName $Step; Settings = $settings
        Action = New-ScheduledTaskAction @action; Trigger = New-ScheduledTaskTrigger @trigger
        Principal = New-ScheduledTaskPrincipal -UserId 'SYSTEM' -LogonType ServiceAccount -RunLevel Highest
    }
    if ($Step['description']) { $task['Description'] = $Step['description'] }
    [void](Register-ScheduledTask @task -Force)
}
