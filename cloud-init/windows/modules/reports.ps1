# Reports of a run: log, serial console, event log, result file, status record. Their errors never fail a run.

$EventSource = 'mullion'
$States = @{ reboot = 'reboot'; failed = 'failed' }    # state in the status record by state of the result
$RunMetrics = @{    # what cloud-init/linux/metrics.py says of them
    mullion_run_code = "Code of the executor's last run: 0 if it succeeded, else a number of docs/errors.md."
    mullion_run_ended_timestamp_seconds = "Moment at which the executor's last run ended."
}
$Told = 1000    # characters of a message in the status record

# .SYNOPSIS
# Write a line to the first serial port, if the machine has one. The port is closed after each line: an open port would
# block the cloud's serial console (SAC) and other programs.
function Write-Serial {
    [CmdletBinding()]
    param([string] $Line)
    try {
        $port = [IO.Ports.SerialPort]::new('COM1', 115200)
        try {
            $port.WriteTimeout = 1000
            $port.Open()
            $port.WriteLine($Line)
        }
        finally { $port.Dispose() }
    }
    catch { [void] 'no port, another program has it open, or nobody reads' }
}

# .SYNOPSIS
# Write a line to the log and the serial console; during a check, to standard error.
function Write-Said {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Text)
    $line = '{0:s}Z mullion: {1}' -f [DateTime]::UtcNow, (Hide-Secret $Run $Text)
    if ($Run.Checking) { return [Console]::Error.WriteLine($line) }
    try { [IO.File]::AppendAllText("$State\node.log", "$line`r`n") } catch { [void] 'the disk is full' }
    Write-Serial $line
}

# .SYNOPSIS
# Write an event to the Application log with the error code as its id (1 if there is no error).
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
    catch { Write-Said $Run "the event cannot be written: $($_.Exception.GetBaseException().Message)" }
}

# .SYNOPSIS
# Write the machine's status record to the bundle store, under a key that only this machine may write.
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
        authorities = Get-TrustText; kubelet_signers = Get-SignerText
    }
    foreach ($last in $false, $true) {
        try {
            if (-not $Run.Instance) { $Run.Instance = Get-Instance }
            $record.instance = $Run.Instance
            $sent = @{
                Url = "$url$($Run.Instance).json"; Service = 'store'; Method = 'PUT'
                Body = ConvertTo-JsonText $record; Headers = @{ 'content-type' = 'application/json' }
            }
            [void](Invoke-SignedRequest @sent)
            return Set-WholeFile $TrustReported $Utf8.GetBytes("$($record.authorities) $($record.kubelet_signers)")
        }
        catch { $why = $_.Exception.GetBaseException().Message }
        # Google Cloud Storage takes one write of an object a second.
        if ($last -or $why -notmatch '\b(429|503)\b') { break }
        Start-Sleep -Seconds 2
    }
    Write-Said $Run "the status record cannot be written: $why"
}

# .SYNOPSIS
# Return a summary of the result in one line.
function Get-Summary {
    [CmdletBinding()]
    param($Result)
    if ($Result['state'] -ne 'failed') { return "$($Result['state']) after $($Result['seconds']) s" }
    $where = "phase $($Result['phase']), step $($Result['step'])"
    "E$($Result['code']) $($Result['name']) in ${where}: $($Result['message'])"
}

# .SYNOPSIS
# Write the result as metrics in Prometheus' text format, for the textfile collector of windows_exporter.
function Write-Metric {
    [CmdletBinding()]
    param([hashtable] $Run, [int] $Code)
    $values = [ordered] @{
        mullion_run_code = $Code; mullion_run_ended_timestamp_seconds = [DateTimeOffset]::UtcNow.ToUnixTimeSeconds()
    }
    $text = -join @(
        foreach ($name in $values.Keys) {
            "# HELP $name $($RunMetrics[$name])`n# TYPE $name gauge`n$name $($values[$name])`n"
        }
    )
    try { Set-WholeFile "$State\metrics\run.prom" $Utf8.GetBytes($text) }
    catch { Write-Said $Run "the metrics cannot be written: $($_.Exception.GetBaseException().Message)" }
}

# .SYNOPSIS
# Write the result to all reports; a check only prints it.
function Write-Result {
    [CmdletBinding()]
    param([hashtable] $Run, $Result)
    $Result['seconds'] = [Math]::Round($Run.Whole.Elapsed.TotalSeconds, 3)
    $text = ConvertTo-JsonText $Result
    if ($Run.Checking) { return [Console]::Out.WriteLine($text) }
    try { Set-WholeFile "$State\result.json" $Utf8.GetBytes($text) }
    catch { Write-Said $Run "the result cannot be written: $($_.Exception.GetBaseException().Message)" }
    Write-Metric $Run $Result['code']
    $summary = Get-Summary $Result
    Write-Said $Run $summary
    Write-Event $Run $summary $Result['code']
    Send-Status $Run $Result $(if ($Result['state'] -eq 'done') { $Run.Reached } else { $States[$Result['state']] })
}
