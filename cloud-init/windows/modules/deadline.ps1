# Deadlines that end the process. A query of WMI (cmdlets of NetTCPIP, NetAdapter, ...) can wait for ever, and nothing
# in PowerShell ends it. Such a process leaves a mark, and the next run of the network watch says so and starts what
# ended.

$HungExecutor, $HungWatch = "$env:ProgramData\mullion\hung-executor", "$env:ProgramData\mullion\hung-watch"
$HungMark = $HungExecutor    # folder that a passed deadline creates
$QuerySeconds = 120    # for one query of the network's state
$StuckSeconds = 900    # by which a try of a step may exceed its limit: transfers and HNS have limits of their own
$WatchSeconds = 780    # for one run of the network watch; Windows ends its task after 15 minutes

# .SYNOPSIS
# End this process in some seconds unless the returned object is disposed before. Both calls are methods of .NET,
# which a timer's thread runs while PowerShell waits.
function New-Deadline {
    [CmdletBinding()]
    param([int] $Seconds)
    $mark, $own = [IO.DirectoryInfo]::new($HungMark), [Diagnostics.Process]::GetCurrentProcess()
    $calls = foreach ($one in @($mark, 'Create'), @($own, 'Kill')) {
        $method = $one[0].GetType().GetMethod($one[1], [type[]] @())
        [Delegate]::CreateDelegate([Action], $one[0], $method)
    }
    $source = [Threading.CancellationTokenSource]::new()
    [void]$source.Token.Register([Action] [Delegate]::Combine($calls[0], $calls[1]))
    $source.CancelAfter($Seconds * 1000)
    $source
}

# .SYNOPSIS
# Return and remove the marks of processes that deadlines have ended.
function Get-Hung {
    [CmdletBinding()]
    param()
    foreach ($mark in $HungExecutor, $HungWatch) {
        if (-not [IO.Directory]::Exists($mark)) { continue }
        [IO.Directory]::Delete($mark)
        $mark
    }
}
