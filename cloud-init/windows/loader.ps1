# Fetches this machine's bundle, checks its digest, makes it current (once per digest) and runs its executor.
# As user-data it only saves itself and starts the boot task: so it runs as SYSTEM, and again after a cut or reboot.
# Another cloud adds a row to $Signers, with its way to a token; the rest stays. The executor uses the functions too.
[CmdletBinding()]
param([switch] $Functions)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$Document = @'
{}
'@
$Mullion = Join-Path $env:ProgramFiles 'mullion'
$Utf8 = [Text.UTF8Encoding]::new($false)
$Invariant = [Globalization.CultureInfo]::InvariantCulture
$Metadata = 'http://169.254.169.254'
# Functions that give the headers with which a cloud's services know the machine, by facts.cloud.
$Signers = @{ aws = 'Get-AwsHeader'; gcp = 'Get-GcpHeader'; azure = 'Get-AzureHeader' }
$AwsServices = @{ store = 's3'; secrets = 'secretsmanager' }
# Offset: of the services' clock to this machine's, once one refused a request as too early or late.
$Site = @{ Facts = $null; Offset = [TimeSpan]::Zero; Identity = $null; Region = ''; Age = $null }
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor 'Tls12'

# .SYNOPSIS
# Bytes as lower-case hexadecimal digits.
function ConvertTo-Hex {
    [CmdletBinding()]
    param([byte[]] $Bytes)
    [BitConverter]::ToString($Bytes).Replace('-', '').ToLowerInvariant()
}

# .SYNOPSIS
# The sha256 of bytes, in hexadecimal digits.
function Get-Sha256 {
    [CmdletBinding()]
    param([byte[]] $Bytes)
    ConvertTo-Hex ([Security.Cryptography.SHA256]::Create().ComputeHash($Bytes))
}

# .SYNOPSIS
# A value of the cloud's metadata service. Never through a proxy.
function Get-Metadata {
    [CmdletBinding()]
    param([string] $Path, [hashtable] $Headers, [string] $Method = 'GET')
    $Utf8.GetString((Send-Request ($Metadata + $Path) $Method @() $Headers)).Trim()
}

# .SYNOPSIS
# A value of AWS, version 2 of its service: a token first.
function Get-AwsMetadata {
    [CmdletBinding()]
    param([string] $Path)
    $token = Get-Metadata '/latest/api/token' @{ 'X-aws-ec2-metadata-token-ttl-seconds' = '300' } 'PUT'
    Get-Metadata $Path @{ 'X-aws-ec2-metadata-token' = $token }
}

# .SYNOPSIS
# Asks for the credentials of the machine's role and its region, at most once a minute.
function Update-AwsIdentity {
    [CmdletBinding()]
    param()
    if ($Site.Identity -and $Site.Age.Elapsed.TotalMinutes -lt 1) { return }
    $roles = '/latest/meta-data/iam/security-credentials/'
    $identity = Get-AwsMetadata ($roles + (Get-AwsMetadata $roles).Split("`n")[0].Trim()) | ConvertFrom-Json
    $Site.Region = Get-AwsMetadata '/latest/meta-data/placement/region'
    $Site.Identity, $Site.Age = $identity, [Diagnostics.Stopwatch]::StartNew()
}

# .SYNOPSIS
# Headers of AWS Signature Version 4 for a request, made with the identity of the machine's role.
function Get-AwsHeader {
    [CmdletBinding()]
    param([string] $Method, [Uri] $Url, [string] $Service, [byte[]] $Bytes, [hashtable] $Headers)
    Update-AwsIdentity
    $identity = $Site.Identity
    $now = ([DateTime]::UtcNow + $Site.Offset).ToString('yyyyMMddTHHmmssZ', $Invariant)
    $digest = Get-Sha256 $Bytes
    $sent = @{ 'x-amz-content-sha256' = $digest; 'x-amz-date' = $now; 'x-amz-security-token' = $identity.Token }
    $sent += $Headers
    $signed = @{ host = $Url.Authority } + $sent
    $order = [string[]] @($signed.Keys)
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
    $sent
}

# .SYNOPSIS
# Headers with a token of the machine's service account.
function Get-GcpHeader {
    [CmdletBinding()]
    param([string] $Method, [Uri] $Url, [string] $Service, [byte[]] $Bytes, [hashtable] $Headers)
    $path = '/computeMetadata/v1/instance/service-accounts/default/token'
    $token = Get-Metadata $path @{ 'Metadata-Flavor' = 'Google' } | ConvertFrom-Json
    $Headers + @{ Authorization = "Bearer $($token.access_token)" }
}

# .SYNOPSIS
# Headers with a token of the machine's managed identity, for this one service.
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
# What a service said when it refused: Message with its code, and Late, its own time when ours is too far off.
function Read-Refusal {
    [CmdletBinding()]
    param([Exception] $Failure)
    $told = @{ Message = $Failure.GetBaseException().Message; Late = $null }
    for ($cause = $Failure; $cause -and $cause -isnot [Net.WebException]; ) { $cause = $cause.InnerException }
    if (-not $cause -or -not $cause.Response) { return $told }
    $told.Message = $cause.Message
    $answer = $cause.Response
    $date = $answer.Headers['Date']
    try { $said = [IO.StreamReader]::new($answer.GetResponseStream()).ReadToEnd() } finally { $answer.Dispose() }
    $word = '(?:<Code>|"(?:__type|code|status|error)"\s*:\s*")([\w.#]+)'
    if ($said -match $word) { $told.Message += ' ' + $Matches[1] }
    $late = $said -match 'RequestTimeTooSkewed|Signature (expired|not yet current)'
    if ($late) { $told.Late = $date }
    $told
}

# .SYNOPSIS
# Bytes of the answer to one request. Straight to the service, whatever WPAD or the user SYSTEM says of proxies, and
# nowhere else: what a signature lets in must not follow a redirect.
function Send-Request {
    [CmdletBinding()]
    param([Uri] $Url, [string] $Method, [byte[]] $Bytes, [hashtable] $Headers)
    $request = [Net.WebRequest]::CreateHttp($Url)
    $request.Method, $request.Proxy, $request.AllowAutoRedirect = $Method, $null, $false
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
# Bytes of the answer to a request made with the machine's identity. The clock is not set if it is far off: requests
# are dated by the service's own, which its refusal tells.
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
# Puts a new file in its place: there it is whole or as before.
function Move-IntoPlace {
    [CmdletBinding()]
    param([string] $New, [string] $Path)
    if ([IO.File]::Exists($Path)) { [IO.File]::Replace($New, $Path, [NullString]::Value) }
    else { [IO.File]::Move($New, $Path) }
}

# .SYNOPSIS
# A file is there whole, and on the disk, or as before.
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
# A line in the loader's log.
function Write-Log {
    [CmdletBinding()]
    param([string] $Message)
    $line = '{0:s}Z mullion: {1}' -f [DateTime]::UtcNow, $Message
    $folder = [IO.Directory]::CreateDirectory("$env:ProgramData\mullion").FullName
    [IO.File]::AppendAllText("$folder\loader.log", "$line`r`n")
}

# .SYNOPSIS
# Unpacks under the digest's name and switches to it; what was current stays so until the last step.
function Install-Bundle {
    [CmdletBinding()]
    param([byte[]] $Content, [string] $Digest)
    $found = Get-Sha256 $Content
    if ($found -ne $Digest) { throw "the bundle has sha256 $found, not ${Digest}: it was changed or is another one" }
    $target, $partial = "$Mullion\bundles\$Digest", "$Mullion\bundles\.$Digest"
    if ([IO.Directory]::Exists($partial)) { [IO.Directory]::Delete($partial, $true) }
    Add-Type -AssemblyName System.IO.Compression
    $zip = [IO.Compression.ZipArchive]::new([IO.MemoryStream]::new($Content))
    $files = @{}
    foreach ($entry in @($zip.Entries | Where-Object { -not $_.FullName.EndsWith('/') })) {
        $path = [IO.Path]::GetFullPath("$partial\$($entry.FullName)")
        if ($entry.FullName.Contains(':') -or -not $path.StartsWith("$partial\", 'OrdinalIgnoreCase')) {
            throw "the bundle has an entry that leaves its folder: $($entry.FullName)"
        }
        $memory, $stream = [IO.MemoryStream]::new(), $entry.Open()
        $stream.CopyTo($memory)
        $files[$path] = $memory.ToArray()
    }
    foreach ($path in $files.Keys) { Set-WholeFile $path $files[$path] }
    if ([IO.Directory]::Exists($target)) { [IO.Directory]::Delete($partial, $true) }
    else { [IO.Directory]::Move($partial, $target) }
    foreach ($name in 'current.txt', 'installed.txt') { Set-WholeFile "$Mullion\$name" $Utf8.GetBytes($Digest) }
}

# .SYNOPSIS
# The bundle's bytes. Waits as long as it takes: network, identity and clock come up after the machine.
function Get-Bundle {
    [CmdletBinding()]
    param([string] $Url)
    $waits = 1, 2, 4, 8, 15, 30, 60
    for ($tries = 0; ; $tries++) {
        try { return , (Invoke-SignedRequest -Url $Url -Service 'store') }
        catch {
            $wait = $waits[[Math]::Min($tries, $waits.Count - 1)]
            Write-Log "${Url}: $($_.Exception.GetBaseException().Message); again in $wait s"
            Start-Sleep -Seconds $wait
        }
    }
}

# .SYNOPSIS
# Registers the script as the task that SYSTEM runs at every boot, and starts it now.
function Start-BootTask {
    [CmdletBinding()]
    param([string] $Script)
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
    $installed = "$Mullion\installed.txt"
    if ($PSCommandPath -ne $loader) {
        # Some clouds run user-data at every boot.
        if ([IO.File]::Exists($installed)) { exit 0 }
        Set-WholeFile "$Mullion\machine.json" $Utf8.GetBytes($Document)
        Set-WholeFile $loader $Utf8.GetBytes($MyInvocation.MyCommand.ScriptBlock.ToString())
        Start-BootTask $loader
        exit 0
    }
    $told = $Document | ConvertFrom-Json
    $url = $told.bundle.url
    if (-not [IO.File]::Exists($installed) -or [IO.File]::ReadAllText($installed) -ne $told.bundle.sha256) {
        $sandbox = $told.facts.PSObject.Properties['world'] -and $told.facts.world -eq 'sandbox'
        if (-not $url.StartsWith('https://') -and -not $sandbox) { throw "$url is not https" }
        $Site.Facts = $told.facts
        Install-Bundle (Get-Bundle $url) $told.bundle.sha256
        Write-Log "bundle $($told.bundle.sha256) is current"
    }
}
catch {
    Write-Log $_.Exception.Message
    exit 1
}
# A run that failed is tried again, as systemd does on Linux: the task itself starts at boot alone.
for (; ; ) {
    try { & "$Mullion\bundles\$([IO.File]::ReadAllText("$Mullion\current.txt"))\node.ps1" }
    catch { Write-Log $_.Exception.Message; $global:LASTEXITCODE = 1 }
    if ($LASTEXITCODE -ne 1) { exit $LASTEXITCODE }
    Start-Sleep -Seconds 60
}
