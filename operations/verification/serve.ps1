# Serves any path on port 80, /large with 262144 bytes: the win-webserver of Kubernetes' own guide for Windows.
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 2.0
$listener = New-Object System.Net.HttpListener
$listener.Prefixes.Add('http://*:80/')
$listener.Start()
while ($listener.IsListening) {
    $context = $listener.GetContext()
    $text = 'hello'
    if ($context.Request.Url.AbsolutePath -eq '/large') { $text = 'x' * 262144 }
    $body = [System.Text.Encoding]::ASCII.GetBytes($text)
    $context.Response.ContentLength64 = $body.Length
    $context.Response.OutputStream.Write($body, 0, $body.Length)
    $context.Response.Close()
}
