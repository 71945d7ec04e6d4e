# What a run says: log, serial console, event log, result file, status record. None of them can fail a run.

$Serial = $null
$EventSource = 'mullion'
$States = @{ reboot = 'reboot'; failed = 'failed' }    # in the status record, by state of the result
$Told = 1000    # characters of a message in the status record

# .SYNOPSIS
# The first serial port, opened once; $false when the machine has none.
function Get-Serial {
    [CmdletBinding()]
    param()
    if ($null -ne $script:Serial) { return $script:Serial }
    $script:Serial = $false
    try {
        $port = [IO.Ports.SerialPort]::new('COM1', 115200)
        $port.WriteTimeout = 1000
        $port.Open()
        $script:Serial = $port
    }
    catch { [void] $_ }
    $script:Serial
}

# .SYNOPSIS
# A line for the log and the serial console; on the standard output when nothing may be written.
function Write-Said {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Text)
    $line = '{0:s}Z mullion: {1}' -f [DateTime]::UtcNow, (Hide-Secret $Run $Text)
    if ($Run.Checking) { return [Console]::Error.WriteLine($line) }
    try { [IO.File]::AppendAllText("$State\node.log", "$line`r`n") } catch { [void] 'the disk is full' }
    $port = Get-Serial
    if ($port) { try { $port.WriteLine($line) } catch { [void] 'nobody reads' } }
}

# .SYNOPSIS
# An event of the Application log, by the number of the error (1: none).
function Write-Event {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Text, [int] $Code)
    $type = if ($Code) { [Diagnostics.EventLogEntryType]::Error } else { [Diagnostics.EventLogEntryType]::Information }
    try {
        if (-not [Diagnostics.EventLog]::SourceExists($EventSource)) {
            [Diagnostics.EventLog]::CreateEventSource($EventSource, 'Application')
        }
        [Diagnostics.EventLog]::WriteEntry($EventSource, (Hide-Secret $Run $Text), $type, [Math]::Max(1, $Code))
    }
    catch { Write-Said $Run "the event log takes nothing: $($_.Exception.GetBaseException().Message)" }
}

# .SYNOPSIS
# Puts the machine's status record into the bundle store; its key is one that only this machine may write.
function Send-Status {
    [CmdletBinding()]
    param([hashtable] $Run, $Result, [string] $Now)
    $url = $Run.Told.facts['status_url']
    if ($Run.Checking -or -not $url) { return }
    $message = [string] $Result['message']
    $record = [ordered] @{
        machine = $Run.Told.machine['name']; instance = ''; bundle = $Result['bundle']; state = $Now
        phase = $Result['phase']; step = $Result['step']; code = $Result['code']; name = $Result['name']
        message = $message.Substring(0, [Math]::Min($Told, $message.Length)); kubernetes = $Run.Kubernetes
        seconds = [Math]::Round($Run.Whole.Elapsed.TotalSeconds, 3); time = '{0:s}Z' -f [DateTime]::UtcNow
    }
    try {
        if (-not $Run.Instance) { $Run.Instance = Get-Instance }
        $record.instance = $Run.Instance
        $sent = @{
            Url = "$url$($Run.Instance).json"; Service = 'store'; Method = 'PUT'
            Body = ConvertTo-JsonText $record; Headers = @{ 'content-type' = 'application/json' }
        }
        [void](Invoke-SignedRequest @sent)
    }
    catch { Write-Said $Run "the status record cannot be written: $($_.Exception.GetBaseException().Message)" }
}

# .SYNOPSIS
# One line for people.
function Get-Summary {
    [CmdletBinding()]
    param($Result)
    if ($Result['state'] -ne 'failed') { return "$($Result['state']) after $($Result['seconds']) s" }
    $where = "phase $($Result['phase']), step $($Result['step'])"
    "E$($Result['code']) $($Result['name']) in ${where}: $($Result['message'])"
}

# .SYNOPSIS
# Tells the end of a run to everybody. A check only says it.
function Write-Result {
    [CmdletBinding()]
    param([hashtable] $Run, $Result)
    $Result['seconds'] = [Math]::Round($Run.Whole.Elapsed.TotalSeconds, 3)
    $text = ConvertTo-JsonText $Result
    if ($Run.Checking) { return [Console]::Out.WriteLine($text) }
    try { Set-WholeFile "$State\result.json" $Utf8.GetBytes($text) }
    catch { Write-Said $Run "the result cannot be written: $($_.Exception.GetBaseException().Message)" }
    $summary = Get-Summary $Result
    Write-Said $Run $summary
    Write-Event $Run $summary $Result['code']
    Send-Status $Run $Result $(if ($Result['state'] -eq 'done') { $Run.Reached } else { $States[$Result['state']] })
}
