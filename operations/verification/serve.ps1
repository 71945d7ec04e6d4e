# Serves any path on port 80, /large with 262144 bytes: the win-webserver of Kubernetes' own guide for Windows. And on
# UDP 8053 an address for any name.
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 2.0

function Write-Page($Context) {
    $text = 'hello'
    if ($Context.Request.Url.AbsolutePath -eq '/large') { $text = 'x' * 262144 }
    $body = [System.Text.Encoding]::ASCII.GetBytes($text)
    $Context.Response.ContentLength64 = $body.Length
    $Context.Response.OutputStream.Write($body, 0, $body.Length)
    $Context.Response.Close()
}

# One answer, 10.0.0.1, to one question (RFC 1035, 4.1): 0xC00C is the name at byte 12.
function Write-Address($Client, $Datagram) {
    [byte[]] $asked = $Datagram.Buffer
    if ($asked.Length -lt 17) { return }
    $end = 12
    while ($asked[$end]) { $end += 1 + $asked[$end] }
    $head = @($asked[0], $asked[1], 0x84, 0x80, 0, 1, 0, 1, 0, 0, 0, 0)
    [byte[]] $answer = $head + @($asked[12..($end + 4)]) + @(0xC0, 0x0C, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 10, 0, 0, 1)
    [void] $Client.Send($answer, $answer.Length, $Datagram.RemoteEndPoint)
}

$listener = New-Object System.Net.HttpListener
$listener.Prefixes.Add('http://*:80/')
$listener.Start()
$client = New-Object System.Net.Sockets.UdpClient 8053
$page, $datagram = $listener.GetContextAsync(), $client.ReceiveAsync()
while ($listener.IsListening) {
    if ([System.Threading.Tasks.Task]::WaitAny(@($page, $datagram)) -eq 0) {
        $next, $page = $page, $listener.GetContextAsync()
        try { Write-Page -Context $next.Result } catch { [Console]::Error.WriteLine($_) }
    } else {
        $next, $datagram = $datagram, $client.ReceiveAsync()
        try { Write-Address -Client $client -Datagram $next.Result } catch { [Console]::Error.WriteLine($_) }
    }
}
