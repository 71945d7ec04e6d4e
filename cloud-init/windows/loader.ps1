# Fetches this machine's bundle, checks its digest, makes it current (once per digest) and runs its executor.
# As user-data it only saves itself and starts the boot task: so it runs as SYSTEM, and again after a cut or reboot.
# Another cloud adds its way to a token and a request; the rest stays. The executor dot-sources the functions.
[CmdletBinding()]
param([switch] $Functions)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$Document = @'
{}
'@
$Mullion = Join-Path $env:ProgramFiles 'mullion'
$Utf8 = New-Object Text.UTF8Encoding $false
$Metadata = 'http://169.254.169.254'
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor 'Tls12'

function ConvertTo-Hex([byte[]] $Bytes) { [BitConverter]::ToString($Bytes).Replace('-', '').ToLowerInvariant() }

function Get-Sha256([byte[]] $Bytes) { ConvertTo-Hex ([Security.Cryptography.SHA256]::Create().ComputeHash($Bytes)) }

# A value of the metadata service, version 2: a token first. Never through a proxy.
function Get-Metadata([string] $Path) {
    $client = New-Object Net.WebClient
    $client.Proxy = $null
    $client.Headers.Add('X-aws-ec2-metadata-token-ttl-seconds', '300')
    $token = $client.UploadString("$Metadata/latest/api/token", 'PUT', '')
    $client.Headers.Clear()
    $client.Headers.Add('X-aws-ec2-metadata-token', $token)
    $client.DownloadString($Metadata + $Path).Trim()
}

# Bytes of the answer to a request with AWS Signature Version 4, made with the identity of the machine's role.
function Invoke-SignedRequest {
    param([string] $Url, [string] $Service, [string] $Method = 'GET', [string] $Body = '', [hashtable] $Headers = @{})
    $roles = '/latest/meta-data/iam/security-credentials/'
    $credentials = Get-Metadata ($roles + (Get-Metadata $roles).Split("`n")[0].Trim()) | ConvertFrom-Json
    $region = Get-Metadata '/latest/meta-data/placement/region'
    $now = [DateTime]::UtcNow.ToString('yyyyMMddTHHmmssZ', [Globalization.CultureInfo]::InvariantCulture)
    $uri = [Uri] $Url
    $bytes = $Utf8.GetBytes($Body)
    $digest = Get-Sha256 $bytes
    $sent = @{ 'x-amz-content-sha256' = $digest; 'x-amz-date' = $now; 'x-amz-security-token' = $credentials.Token }
    $sent += $Headers
    $signed = @{ host = $uri.Authority } + $sent
    $order = [string[]] @($signed.Keys)
    [Array]::Sort($order, [StringComparer]::Ordinal)
    $names = $order -join ';'
    $lines = @($Method, $uri.AbsolutePath, $uri.Query.TrimStart('?'))
    $lines += @($order | ForEach-Object { '{0}:{1}' -f $_, $signed[$_] }) + @('', $names, $digest)
    $scope = '{0}/{1}/{2}/aws4_request' -f $now.Substring(0, 8), $region, $Service
    $text = ('AWS4-HMAC-SHA256', $now, $scope, (Get-Sha256 $Utf8.GetBytes($lines -join "`n"))) -join "`n"
    $key = $Utf8.GetBytes('AWS4' + $credentials.SecretAccessKey)
    foreach ($part in @($scope.Split('/')) + $text) {
        $key = (New-Object Security.Cryptography.HMACSHA256 (, $key)).ComputeHash($Utf8.GetBytes($part))
    }
    $place = 'Credential={0}/{1}, SignedHeaders={2}' -f $credentials.AccessKeyId, $scope, $names
    $client = New-Object Net.WebClient
    foreach ($name in $sent.Keys) { $client.Headers.Add($name, $sent[$name]) }
    $client.Headers.Add('Authorization', ('AWS4-HMAC-SHA256 {0}, Signature={1}' -f $place, (ConvertTo-Hex $key)))
    if ($Method -eq 'GET') { return , $client.DownloadData($Url) }
    , $client.UploadData($Url, $Method, $bytes)
}

# A file is there whole, and on the disk, or not at all.
function Set-WholeFile([string] $Path, [byte[]] $Bytes) {
    [void][IO.Directory]::CreateDirectory((Split-Path $Path))
    $file = [IO.File]::Create("$Path.new")
    try { $file.Write($Bytes, 0, $Bytes.Length); $file.Flush($true) } finally { $file.Dispose() }
    if ([IO.File]::Exists($Path)) { [IO.File]::Replace("$Path.new", $Path, [NullString]::Value) }
    else { [IO.File]::Move("$Path.new", $Path) }
}

function Write-Log([string] $Message) {
    $line = '{0:s}Z mullion: {1}' -f [DateTime]::UtcNow, $Message
    $folder = [IO.Directory]::CreateDirectory("$env:ProgramData\mullion").FullName
    [IO.File]::AppendAllText("$folder\loader.log", "$line`r`n")
}

# Unpacks under the digest's name and switches to it; what was current stays so until the last step.
function Install-Bundle([byte[]] $Content, [string] $Digest) {
    $found = Get-Sha256 $Content
    if ($found -ne $Digest) { throw "the bundle has sha256 $found, not ${Digest}: it was changed or is another one" }
    $target = "$Mullion\bundles\$Digest"
    $partial = "$Mullion\bundles\.$Digest"
    if ([IO.Directory]::Exists($partial)) { [IO.Directory]::Delete($partial, $true) }
    Add-Type -AssemblyName System.IO.Compression
    $zip = New-Object IO.Compression.ZipArchive (New-Object IO.MemoryStream (, $Content))
    $files = @{}
    foreach ($entry in @($zip.Entries | Where-Object { -not $_.FullName.EndsWith('/') })) {
        $path = [IO.Path]::GetFullPath("$partial\$($entry.FullName)")
        if ($entry.FullName.Contains(':') -or -not $path.StartsWith("$partial\", 'OrdinalIgnoreCase')) {
            throw "the bundle has an entry that leaves its folder: $($entry.FullName)"
        }
        $memory = New-Object IO.MemoryStream
        $stream = $entry.Open()
        $stream.CopyTo($memory)
        $stream.Dispose()
        $files[$path] = $memory.ToArray()
    }
    foreach ($path in $files.Keys) { Set-WholeFile $path $files[$path] }
    if ([IO.Directory]::Exists($target)) { [IO.Directory]::Delete($partial, $true) }
    else { [IO.Directory]::Move($partial, $target) }
    foreach ($name in 'current.txt', 'installed.txt') { Set-WholeFile "$Mullion\$name" $Utf8.GetBytes($Digest) }
}

# Waits as long as it takes: network, identity and clock come up after the machine.
function Get-Bundle([string] $Url) {
    $waits = 1, 2, 4, 8, 15, 30, 60
    for ($tries = 0; ; $tries++) {
        try { return , (Invoke-SignedRequest -Url $Url -Service 's3') }
        catch {
            $wait = $waits[[Math]::Min($tries, $waits.Count - 1)]
            Write-Log "${Url}: $($_.Exception.Message); again in $wait s"
            Start-Sleep -Seconds $wait
        }
    }
}

function Start-BootTask([string] $Script) {
    $run = '-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "{0}"' -f $Script
    $task = @{
        TaskName  = 'mullion'
        Action    = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument $run
        Trigger   = New-ScheduledTaskTrigger -AtStartup
        Principal = New-ScheduledTaskPrincipal -UserId 'SYSTEM' -LogonType ServiceAccount -RunLevel Highest
        Settings  = New-ScheduledTaskSettingsSet -ExecutionTimeLimit ([TimeSpan]::Zero) -MultipleInstances IgnoreNew
    }
    [void](Register-ScheduledTask @task -Force)
    Start-ScheduledTask -TaskName 'mullion'
}

if ($Functions) { return }
try {
    $loader = "$Mullion\loader.ps1"
    if ($PSCommandPath -ne $loader) {
        Set-WholeFile "$Mullion\machine.json" $Utf8.GetBytes($Document)
        Set-WholeFile $loader $Utf8.GetBytes($MyInvocation.MyCommand.ScriptBlock.ToString())
        Start-BootTask $loader
        exit 0
    }
    $told = $Document | ConvertFrom-Json
    $url = $told.bundle.url
    $installed = "$Mullion\installed.txt"
    if (-not [IO.File]::Exists($installed) -or [IO.File]::ReadAllText($installed) -ne $told.bundle.sha256) {
        $sandbox = $told.facts.PSObject.Properties['world'] -and $told.facts.world -eq 'sandbox'
        if (-not $url.StartsWith('https://') -and -not $sandbox) { throw "$url is not https" }
        Install-Bundle (Get-Bundle $url) $told.bundle.sha256
        Write-Log "bundle $($told.bundle.sha256) is current"
    }
}
catch {
    Write-Log $_.Exception.Message
    exit 1
}
& "$Mullion\bundles\$([IO.File]::ReadAllText("$Mullion\current.txt"))\node.ps1"
exit $LASTEXITCODE
