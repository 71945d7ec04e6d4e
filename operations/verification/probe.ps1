# Asks the questions in QUESTIONS, "NUMBER KIND TARGET [MORE]" separated by ;, and writes "NUMBER ok|no OUTPUT" for each.
# Asks again after a no: a new Service takes a moment.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'

# Send a DNS query for an A record over UDP; any answer counts, also NXDOMAIN (RFC 1035, 4.1).
function Get-NameAnswer([string] $Server, [int] $Port) {
    $labels = foreach ($label in 'kubernetes', 'default', 'svc', 'cluster', 'local') {
        [byte] $label.Length
        [System.Text.Encoding]::ASCII.GetBytes($label)
    }
    [byte[]] $message = @(7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0) + @($labels) + @(0, 0, 1, 0, 1)
    $client = New-Object System.Net.Sockets.UdpClient
    try {
        $client.Client.ReceiveTimeout = 4000
        $client.Connect($Server, $Port)
        [void] $client.Send($message, $message.Length)
        $from = New-Object System.Net.IPEndPoint ([System.Net.IPAddress]::Any), 0
        $answer = $client.Receive([ref] $from)
        if ($answer[0] -ne 7 -or -not ($answer[2] -band 128)) { throw 'it answers something else' }
        return "$($answer.Length) bytes"
    } finally { $client.Close() }
}

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
        'udp' { return Get-NameAnswer -Server $Target -Port ([int] $More) }
        'file' {
            $text = [System.IO.File]::ReadAllText($Target).Trim()
            if ($text -ne $More) { throw "it has $text" }
            return $text
        }
        'env' {
            $text = [string] [Environment]::GetEnvironmentVariable($Target)
            if ($text -ne $More) { throw "it is $text" }
            return $text
        }
        'there' {
            if (-not [System.IO.File]::Exists($Target)) { throw 'it is not there' }
            return $Target
        }
        'write' {
            [System.IO.File]::WriteAllText($Target, 'x')
            return 'written'
        }
        'containers' {
            $crictl = 'C:\k\crictl.exe'
            $sandbox = [string] (& $crictl pods --name "^$Target`$" --state ready --quiet)
            if (-not $sandbox) { throw 'no sandbox is ready' }
            $running = @(& $crictl ps --pod $sandbox --state running --quiet)
            if ($running.Count -ne 1) { throw "$($running.Count) containers run" }
            return '1 containers'
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
