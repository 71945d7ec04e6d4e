# Fetches this machine's bundle, checks its digest, unpacks it (once per digest) and runs its executor, node.ps1. As
# user-data it saves itself once and registers a boot task of SYSTEM. Another cloud takes a function that signs requests
# and a row (by facts.cloud) in $Signers. node.ps1 uses the functions. Functions of modules see global preferences only.
[CmdletBinding()] param([switch] $Functions)
Set-StrictMode -Version 2.0
$global:ErrorActionPreference = 'Stop'
$Document = @'
{}
'@
$Mullion = "$env:ProgramFiles\mullion"
$Utf8, $Invariant = [Text.UTF8Encoding]::new($false), [Globalization.CultureInfo]::InvariantCulture
$Signers = @{ aws = 'Get-AwsHeader'; gcp = 'Get-GcpHeader'; azure = 'Get-AzureHeader' }
$AwsServices = @{ store = 's3'; secrets = 'secretsmanager' }
# Offset: time by which the services' clock is ahead, set after a service refused a request as too early or too late.
$Site = @{ Facts = $null; Offset = [TimeSpan]::Zero; Identity = $null; Region = ''; Age = $null }
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor 'Tls12'

# .SYNOPSIS
# Return bytes as lower-case hexadecimal digits.
function ConvertTo-Hex {
    [CmdletBinding()]
    param([byte[]] $Bytes)
    [BitConverter]::ToString($Bytes).Replace('-', '').ToLowerInvariant()
}

# .SYNOPSIS
# Return the sha256 of bytes in hexadecimal digits.
function Get-Sha256 {
    [CmdletBinding()]
    param([byte[]] $Bytes)
    ConvertTo-Hex ([Security.Cryptography.SHA256]::Create().ComputeHash($Bytes))
}

# .SYNOPSIS
# Read a value of the cloud's metadata service within 10 s: callers repair its route between tries.
function Get-Metadata {
    [CmdletBinding()]
    param([string] $Path, [hashtable] $Headers, [string] $Method = 'GET')
    $Utf8.GetString((Send-Request "http://169.254.169.254$Path" $Method @() $Headers 10000)).Trim()
}

# .SYNOPSIS
# Read a value of AWS instance metadata with a token (IMDSv2).
function Get-AwsMetadata {
    [CmdletBinding()]
    param([string] $Path)
    $token = Get-Metadata '/latest/api/token' @{ 'X-aws-ec2-metadata-token-ttl-seconds' = '300' } 'PUT'
    Get-Metadata $Path @{ 'X-aws-ec2-metadata-token' = $token }
}

# .SYNOPSIS
# Return the credentials of the machine's role; read them and the region again once they are a minute old.
function Get-AwsIdentity {
    [CmdletBinding()]
    param()
    if (-not $Site.Identity -or $Site.Age.Elapsed.TotalMinutes -ge 1) {
        $roles = '/latest/meta-data/iam/security-credentials/'
        $Site.Region = Get-AwsMetadata '/latest/meta-data/placement/region'
        $Site.Identity = Get-AwsMetadata ($roles + (Get-AwsMetadata $roles).Split("`n")[0].Trim()) | ConvertFrom-Json
        $Site.Age = [Diagnostics.Stopwatch]::StartNew()
    }
    $Site.Identity
}

# .SYNOPSIS
# Return a request's headers with an AWS Signature Version 4 of the machine's role.
function Get-AwsHeader {
    [CmdletBinding()]
    param([string] $Method, [Uri] $Url, [string] $Service, [byte[]] $Bytes, [hashtable] $Headers)
    $identity = Get-AwsIdentity
    $now, $digest = ([DateTime]::UtcNow + $Site.Offset).ToString('yyyyMMddTHHmmssZ', $Invariant), (Get-Sha256 $Bytes)
    $sent = @{ 'x-amz-content-sha256' = $digest; 'x-amz-date' = $now; 'x-amz-security-token' = $identity.Token }
    $signed = @{ host = $Url.Authority } + $sent + $Headers
    $order = [string[]] $signed.Keys
    [Array]::Sort($order, [StringComparer]::Ordinal)
    $names = $order -join ';'
    $lines = @($Method, $Url.AbsolutePath, $Url.Query.TrimStart('?'))
    $lines += @($order | ForEach-Object { '{0}:{1}' -f $_, $signed[$_] }) + @('', $names, $digest)
    $scope = '{0}/{1}/{2}/aws4_request' -f $now.Substring(0, 8), $Site.Region, $AwsServices[$Service]
    $text = ('AWS4-HMAC-SHA256', $now, $scope, (Get-Sha256 $Utf8.GetBytes($lines -join "`n"))) -join "`n"
    $key = $Utf8.GetBytes('AWS4' + $identity.SecretAccessKey)
    foreach ($part in @($scope.Split('/')) + $text) {
        $key = [Security.Cryptography.HMACSHA256]::new($key).ComputeHash($Utf8.GetBytes($part))
    }
    $place = 'Credential={0}/{1}, SignedHeaders={2}' -f $identity.AccessKeyId, $scope, $names
    $sent['Authorization'] = 'AWS4-HMAC-SHA256 {0}, Signature={1}' -f $place, (ConvertTo-Hex $key)
    $sent + $Headers
}

# .SYNOPSIS
# Return a request's headers with a token of the machine's service account.
function Get-GcpHeader {
    [CmdletBinding()]
    param([string] $Method, [Uri] $Url, [string] $Service, [byte[]] $Bytes, [hashtable] $Headers)
    $path = '/computeMetadata/v1/instance/service-accounts/default/token'
    $token = Get-Metadata $path @{ 'Metadata-Flavor' = 'Google' } | ConvertFrom-Json
    $Headers + @{ Authorization = "Bearer $($token.access_token)" }
}

# .SYNOPSIS
# Return a request's headers with a token of the machine's managed identity for the service.
function Get-AzureHeader {
    [CmdletBinding()]
    param([string] $Method, [Uri] $Url, [string] $Service, [byte[]] $Bytes, [hashtable] $Headers)
    $services = @{ store = 'https://storage.azure.com/'; secrets = 'https://vault.azure.net' }
    $asked = '/metadata/identity/oauth2/token?api-version=2018-02-01&resource={0}&client_id={1}'
    $asked = $asked -f [Uri]::EscapeDataString($services[$Service]), $Site.Facts.identity
    $token = Get-Metadata $asked @{ Metadata = 'true' } | ConvertFrom-Json
    $sent = $Headers + @{ Authorization = "Bearer $($token.access_token)" }
    if ($Service -eq 'store') {
        $now = ([DateTime]::UtcNow + $Site.Offset).ToString('R', $Invariant)
        $sent += @{ 'x-ms-version' = '2023-11-03'; 'x-ms-date' = $now }
        if ($Method -eq 'PUT') { $sent['x-ms-blob-type'] = 'BlockBlob' }
    }
    $sent
}

# .SYNOPSIS
# Read a refusal: Message with the service's error code, and Late, the service's time if it refused our clock.
function Read-Refusal {
    [CmdletBinding()]
    param([Exception] $Failure)
    $base = $Failure.GetBaseException()
    $told = @{ Message = $base.Message; Late = $null }
    if ($base.GetType().Name -eq 'AuthenticationException') { $told.Message += ' See docs/images.md, roots' }
    for ($cause = $Failure; $cause -and $cause -isnot [Net.WebException]; ) { $cause = $cause.InnerException }
    if (-not $cause -or -not $cause.Response) { return $told }
    $told.Message, $answer, $date = $cause.Message, $cause.Response, $cause.Response.Headers['Date']
    try { $said = [IO.StreamReader]::new($answer.GetResponseStream()).ReadToEnd() } finally { $answer.Dispose() }
    $word = '(?:<Code>|"(?:__type|code|status|error)"\s*:\s*")([\w.#]+)'
    if ($said -match $word) { $told.Message += ' ' + $Matches[1] }
    if ($said -match 'RequestTimeTooSkewed|Signature (expired|not yet current)') { $told.Late = $date }
    $told
}

# .SYNOPSIS
# Send one request and return the body as bytes. No proxy, whatever WPAD or the SYSTEM account configures, and no
# redirect: a signed request must reach no other host.
function Send-Request {
    [CmdletBinding()]
    param([Uri] $Url, [string] $Method, [byte[]] $Bytes, [hashtable] $Headers, [int] $Limit = 100000)
    $request = [Net.WebRequest]::CreateHttp($Url)
    $request.Method, $request.Proxy, $request.AllowAutoRedirect, $request.Timeout = $Method, $null, $false, $Limit
    foreach ($name in $Headers.Keys) {
        if ($name -eq 'content-type') { $request.ContentType = $Headers[$name] }
        else { $request.Headers.Add($name, $Headers[$name]) }
    }
    if ($Method -ne 'GET') {
        $request.ContentLength = $Bytes.Length
        $stream = $request.GetRequestStream()
        try { $stream.Write($Bytes, 0, $Bytes.Length) } finally { $stream.Dispose() }
    }
    $answer, $content = $request.GetResponse(), [IO.MemoryStream]::new()
    try {
        if ([int] $answer.StatusCode -ge 300) { throw "$Url redirects, with status $([int] $answer.StatusCode)" }
        $answer.GetResponseStream().CopyTo($content)
    }
    finally { $answer.Dispose() }
    return , $content.ToArray()
}

# .SYNOPSIS
# Send a request as this machine; return the body. If the service refuses the clock, send it again with the service's.
function Invoke-SignedRequest {
    [CmdletBinding()]
    param([Uri] $Url, [string] $Service, [string] $Method = 'GET', [string] $Body = '', [hashtable] $Headers = @{})
    $bytes = $Utf8.GetBytes($Body)
    for ($attempt = 0; ; $attempt++) {
        $sent = & $Signers[$Site.Facts.cloud] $Method $Url $Service $bytes $Headers
        try { return , (Send-Request $Url $Method $bytes $sent) }
        catch {
            $told = Read-Refusal $_.Exception
            if (-not $told.Late -or $attempt) { throw $told.Message }
            $Site.Offset = [DateTime]::Parse($told.Late, $Invariant).ToUniversalTime() - [DateTime]::UtcNow
        }
    }
}

# .SYNOPSIS
# Rename a complete new file to its path, replacing an existing one; repeat that for a second. Windows refuses it while
# a scanner has one of them open, and can fail after it removed the old one (ReplaceFile, error 1176).
function Move-IntoPlace {
    [CmdletBinding()]
    param([string] $New, [string] $Path, [int] $Tries = 10)
    try {
        if ([IO.File]::Exists($Path)) { [IO.File]::Replace($New, $Path, [NullString]::Value) }
        else { [IO.File]::Move($New, $Path) }
    }
    catch { if ($Tries -le 1) { throw }; [Threading.Thread]::Sleep(100); Move-IntoPlace $New $Path ($Tries - 1) }
}

# .SYNOPSIS
# Write a file atomically and flush it to the disk.
function Set-WholeFile {
    [CmdletBinding()]
    param([string] $Path, [byte[]] $Bytes)
    [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($Path))
    try {
        $file = [IO.File]::Create("$Path.new")
        try { $file.Write($Bytes, 0, $Bytes.Length); $file.Flush($true) } finally { $file.Dispose() }
    }
    catch { [IO.File]::Delete("$Path.new"); throw }
    Move-IntoPlace "$Path.new" $Path
}

# .SYNOPSIS
# Write a line to the loader's log, unless the disk is full or another program has the file open.
function Write-Log {
    [CmdletBinding()]
    param([string] $Message)
    $folder, $line = "$env:ProgramData\mullion", ("{0:s}Z mullion: {1}`r`n" -f [DateTime]::UtcNow, $Message)
    try { [IO.File]::AppendAllText("$([IO.Directory]::CreateDirectory($folder).FullName)\loader.log", $line) }
    catch { [void] 'not written' }
}

# .SYNOPSIS
# Unpack the bundle into a folder named by its digest and make it current as the last step.
function Install-Bundle {
    [CmdletBinding()]
    param([byte[]] $Content, [string] $Digest)
    $found = Get-Sha256 $Content
    if ($found -ne $Digest) { throw "the bundle has sha256 $found, not ${Digest}: it was changed or is another one" }
    $target, $partial = "$Mullion\bundles\$Digest", "$Mullion\bundles\.$Digest"
    if ([IO.Directory]::Exists($partial)) { [IO.Directory]::Delete($partial, $true) }
    Add-Type -AssemblyName System.IO.Compression
    $zip, $files = [IO.Compression.ZipArchive]::new([IO.MemoryStream]::new($Content)), @{}
    foreach ($entry in @($zip.Entries | Where-Object { -not $_.FullName.EndsWith('/') })) {
        $path = [IO.Path]::GetFullPath("$partial\$($entry.FullName)")
        if ($entry.FullName.Contains(':') -or -not $path.StartsWith("$partial\", 'OrdinalIgnoreCase')) {
            throw "the bundle has an entry that leaves its folder: $($entry.FullName)"
        }
        $files[$path] = [IO.MemoryStream]::new()
        $entry.Open().CopyTo($files[$path])
    }
    foreach ($path in $files.Keys) { Set-WholeFile $path $files[$path].ToArray() }
    if ([IO.Directory]::Exists($target)) { [IO.Directory]::Delete($partial, $true) }
    else { [IO.Directory]::Move($partial, $target) }
    foreach ($name in 'current.txt', 'installed.txt') { Set-WholeFile "$Mullion\$name" $Utf8.GetBytes($Digest) }
}

# .SYNOPSIS
# Download and install the bundle. Retry without end: network, identity, clock and the right bundle may come later, and
# Windows renames no folder while Defender scans a file in it.
function Receive-Bundle {
    [CmdletBinding()]
    param([string] $Url, [string] $Digest)
    for ($tries = 0; ; $tries++) {
        try { return Install-Bundle (Invoke-SignedRequest $Url 'store') $Digest }
        catch {
            $wait = (1, 2, 4, 8, 15, 30, 60)[[Math]::Min($tries, 6)]
            Write-Log "${Url}: $($_.Exception.GetBaseException().Message); again in $wait s"
            Start-Sleep -Seconds $wait
        }
    }
}

# .SYNOPSIS
# Register the script as a task of SYSTEM at every boot, tried again after a minute if it cannot start; start it now.
function Start-BootTask {
    [CmdletBinding()]
    param([string] $Script)
    $run = '-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "{0}"' -f $Script
    $settings = @{ Priority = 4; ExecutionTimeLimit = '0:0'; MultipleInstances = 'IgnoreNew'; RestartCount = 3 }
    $task = @{
        TaskName  = 'mullion'; Trigger = New-ScheduledTaskTrigger -AtStartup
        Action    = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument $run
        Principal = New-ScheduledTaskPrincipal -UserId 'SYSTEM' -LogonType ServiceAccount -RunLevel Highest
        Settings  = New-ScheduledTaskSettingsSet @settings -RestartInterval 0:1
    }
    [void](Register-ScheduledTask @task -Force)
    Start-ScheduledTask -TaskName 'mullion'
}

if ($Functions) { return }
try {
    $loader, $installed = "$Mullion\loader.ps1", "$Mullion\installed.txt"
    if ($PSCommandPath -ne $loader) {
        if ([IO.File]::Exists($installed)) { exit 0 }
        Set-WholeFile "$Mullion\machine.json" $Utf8.GetBytes($Document)
        Set-WholeFile $loader $Utf8.GetBytes($MyInvocation.MyCommand.ScriptBlock.ToString())
        # without end: AWS and Azure do not run user-data again, and WMI may start later
        for (; ; ) { try { Start-BootTask $loader; exit 0 } catch { Write-Log "$_"; Start-Sleep 15 } }
    }
    $told = ConvertFrom-Json $Document
    if (-not [IO.File]::Exists($installed) -or [IO.File]::ReadAllText($installed) -ne $told.bundle.sha256) {
        $sandbox = $told.facts.PSObject.Properties['world'] -and $told.facts.world -eq 'sandbox'
        if (-not $sandbox -and $told.bundle.url -cnotlike 'https://*') { throw "$($told.bundle.url) is not https" }
        $Site.Facts = $told.facts
        Receive-Bundle $told.bundle.url $told.bundle.sha256
        Write-Log "bundle $($told.bundle.sha256) is current"
    }
}
catch { Write-Log $_.Exception.Message; exit 1 }
# Repeat a failed run, as systemd does on Linux: the task itself starts only at boot.
for (; ; ) {
    try { & "$Mullion\bundles\$([IO.File]::ReadAllText("$Mullion\current.txt"))\node.ps1" }
    catch { Write-Log $_.Exception.Message; $global:LASTEXITCODE = 1 }
    if ($LASTEXITCODE -ne 1) { exit $LASTEXITCODE }
    Start-Sleep -Seconds 60
}
