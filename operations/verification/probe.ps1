# Asks the questions in QUESTIONS, "NUMBER KIND TARGET [MORE]" with ; between, and writes "NUMBER ok|no WHAT IT SAW" for each.
# A cluster that just got a Service takes a moment, so a no is asked again.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'

function Get-Answer([string] $Kind, [string] $Target, [string] $More) {
    switch ($Kind) {
        'http' { return (Invoke-WebRequest -UseBasicParsing -TimeoutSec 5 -Uri $Target).Content }
        'size' {
            $length = (Invoke-WebRequest -UseBasicParsing -TimeoutSec 10 -Uri $Target).RawContentLength
            if ($length -ne [int] $More) { throw "$length bytes" }
            return "$length bytes"
        }
        'name' { return [string] @([System.Net.Dns]::GetHostAddresses($Target))[0] }
        'ping' {
            $reply = (New-Object System.Net.NetworkInformation.Ping).Send($Target, 3000)
            if ($reply.Status -ne 'Success') { throw [string] $reply.Status }
            return [string] $reply.RoundtripTime
        }
        'open' {
            $client = New-Object System.Net.Sockets.TcpClient
            try {
                if (-not $client.ConnectAsync($Target, [int] $More).Wait(4000)) { throw 'timed out' }
                return 'connected'
            } finally { $client.Close() }
        }
    }
    throw "no question of kind $Kind"
}

foreach ($question in $env:QUESTIONS.Split(';')) {
    $number, $kind, $target, $rest = $question.Split(' ')
    $tries = 4
    if (@($rest) -contains 'once') { $tries = 1 }
    do {
        $tries--
        try {
            $said = Get-Answer -Kind $kind -Target $target -More ([string] @($rest)[0])
            $answer = 'ok'
        } catch {
            $said = $_.Exception.Message
            $answer = 'no'
            if ($tries -gt 0) { Start-Sleep -Seconds 3 }
        }
    } while ($answer -eq 'no' -and $tries -gt 0)
    $line = ([string] $said).Replace("`r", ' ').Replace("`n", ' ')
    '{0} {1} {2}' -f $number, $answer, $line.Substring(0, [Math]::Min(120, $line.Length))
}
'done'
