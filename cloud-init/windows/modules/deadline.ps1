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
    $source = [Threading.CancellationTokenSource]::new()
    # Registered apart, because an error of one call does not prevent the other. .NET makes the newest call first.
    foreach ($one in @($own, 'Kill'), @($mark, 'Create')) {
        $method = $one[0].GetType().GetMethod($one[1], [type[]] @())
        [void]$source.Token.Register([Action] [Delegate]::CreateDelegate([Action], $one[0], $method))
    }
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

$Loaded = @{}    # cmdlets of queries whose modules are loaded, by name

# .SYNOPSIS
# Return what a query of NetTCPIP or NetAdapter finds; nothing if no object matches. Throw its other errors: WMI that
# fails says nothing about the network. WMI can also hang: then the process ends. The query begins with its cmdlet; the
# cmdlet's module is loaded before the deadline begins, because that takes long on a machine that has just started. The
# query needs -ErrorAction Stop, because functions of modules do not see $ErrorActionPreference of a script.
function Find-NetObject {
    [CmdletBinding()]
    param([scriptblock] $Query)
    $name = "$Query".Trim().Split(' ')[0]
    if (-not $Loaded[$name]) { $Loaded[$name] = Get-Command -Name $name -ErrorAction Ignore }
    $end = New-Deadline $QuerySeconds
    try { & $Query } catch { if ($_.FullyQualifiedErrorId -notlike 'CmdletizationQuery_NotFound*') { throw } }
    finally { $end.Dispose() }
}
