# What the network watch must know of the executor: its process, and whether it finished its plan in this boot.

# .SYNOPSIS
# Return the id of a process and the time of its start: Windows gives the id of a process that ended to another one.
function Get-ProcessMark {
    [CmdletBinding()]
    param([Diagnostics.Process] $Process)
    "$($Process.Id) $($Process.StartTime.ToUniversalTime().Ticks)"
}

# .SYNOPSIS
# Record that this process runs the plan. It is the loader's, which lives on between two tries.
function Save-Beginning {
    [CmdletBinding()]
    param()
    $own = Get-ProcessMark ([Diagnostics.Process]::GetCurrentProcess())
    [void](Update-Memory @{ executor = $own; finished = $null })
}

# .SYNOPSIS
# Record that the plan is finished in this boot, and that the next restart is the first one in a row.
function Save-Finish {
    [CmdletBinding()]
    param()
    [void](Update-Memory @{ finished = Get-BootId; reboots = 0 })
}

# .SYNOPSIS
# Return whether the executor has finished its plan in this boot, and did not begin again.
function Test-Finished {
    [CmdletBinding()]
    param()
    (Update-Memory)['finished'] -eq (Get-BootId)
}

# .SYNOPSIS
# Return whether the process that ran the plan last still runs. Asks neither WMI nor the Task Scheduler, which can hang.
function Test-ExecutorProcess {
    [CmdletBinding()]
    param()
    $known = "$((Update-Memory)['executor'])"
    if (-not $known) { return $false }
    try { $process = [Diagnostics.Process]::GetProcessById([int] $known.Split(' ')[0]) }
    catch [ArgumentException] { return $false }    # no such process
    # a process that ends meanwhile has no time of its start
    try { (Get-ProcessMark $process) -eq $known } catch { $false } finally { $process.Dispose() }
}
