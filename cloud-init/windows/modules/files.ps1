# Files, folders, downloads, secrets, the CA bundle, variables.

$System, $Administrators, $Users = 'S-1-5-18', 'S-1-5-32-544', 'S-1-5-32-545'

# Who may do what, by access: folders of C:\ would otherwise inherit that every user may add files.
$Access = @{
    private = @{ $System = 'FullControl'; $Administrators = 'FullControl' }
    public  = @{ $System = 'FullControl'; $Administrators = 'FullControl'; $Users = 'ReadAndExecute, Synchronize' }
}

function Get-WantedAccess {
    [CmdletBinding()]
    param($Step)
    $Access[$(if ($Step['access'] -eq 'private') { 'private' } else { 'public' })]
}

function Test-Access {
    [CmdletBinding()]
    param([string] $Path, [hashtable] $Wanted)
    $acl = Get-Acl -LiteralPath $Path
    $rules = @($acl.GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier]))
    $fit = @($rules | Where-Object { $Wanted[$_.IdentityReference.Value] -eq $_.FileSystemRights.ToString() })
    $acl.AreAccessRulesProtected -and $rules.Count -eq $Wanted.Count -and $fit.Count -eq $Wanted.Count
}

function Set-Access {
    [CmdletBinding()]
    param([string] $Path, [hashtable] $Wanted)
    $folder = [IO.Directory]::Exists($Path)
    $acl = New-Object "Security.AccessControl.$(if ($folder) { 'Directory' } else { 'File' })Security"
    $acl.SetAccessRuleProtection($true, $false)
    $inherit = if ($folder) { 'ContainerInherit, ObjectInherit' } else { 'None' }
    foreach ($sid in $Wanted.Keys) {
        $who = New-Object Security.Principal.SecurityIdentifier $sid
        $rule = New-Object Security.AccessControl.FileSystemAccessRule $who, $Wanted[$sid], $inherit, 'None', 'Allow'
        $acl.AddAccessRule($rule)
    }
    Set-Acl -LiteralPath $Path -AclObject $acl
}

function Test-DirectoryStep {
    [CmdletBinding()]
    param($Run, $Step)
    [IO.Directory]::Exists($Step['path']) -and (Test-Access $Step['path'] (Get-WantedAccess $Step))
}

function Set-DirectoryStep {
    [CmdletBinding()]
    param($Run, $Step)
    [void][IO.Directory]::CreateDirectory($Step['path'])
    Set-Access $Step['path'] (Get-WantedAccess $Step)
}

# The file holds exactly these bytes; a private one is closed to users.
function Test-Content {
    [CmdletBinding()]
    param([string] $Path, [byte[]] $Bytes, $Step)
    if (-not [IO.File]::Exists($Path)) { return $false }
    if ((Get-Sha256 ([IO.File]::ReadAllBytes($Path))) -ne (Get-Sha256 $Bytes)) { return $false }
    $Step['access'] -ne 'private' -or (Test-Access $Path $Access.private)
}

# A private file is closed before it has its content.
function Set-FileContent {
    [CmdletBinding()]
    param([string] $Path, [byte[]] $Bytes, $Step)
    if ($Step['access'] -eq 'private') {
        [void][IO.Directory]::CreateDirectory((Split-Path $Path))
        if (-not [IO.File]::Exists($Path)) { [IO.File]::WriteAllBytes($Path, (New-Object byte[] 0)) }
        Set-Access $Path $Access.private
        [IO.File]::WriteAllBytes($Path, $Bytes)
        return
    }
    Set-WholeFile $Path $Bytes
}

function Get-FileStepContent {
    [CmdletBinding()]
    param($Step)
    $content = $Step['content']
    if ($Step['format'] -eq 'json') { return , $Utf8.GetBytes((ConvertTo-JsonText $content) + "`n") }
    if ($Step['format'] -eq 'documents') {
        return , $Utf8.GetBytes(@($content | ForEach-Object { "---`n$(ConvertTo-JsonText $_)`n" }) -join '')
    }
    if ($content -isnot [string]) {
        throw (New-Failure 'step-invalid' 'content is neither text nor of format json or documents')
    }
    , $Utf8.GetBytes($content)
}

function Test-FileStep {
    [CmdletBinding()]
    param($Run, $Step)
    Test-Content $Step['path'] (Get-FileStepContent $Step) $Step
}

function Set-FileStep {
    [CmdletBinding()]
    param($Run, $Step)
    Set-FileContent $Step['path'] (Get-FileStepContent $Step) $Step
}

function Test-SecretStep {
    [CmdletBinding()]
    param($Run, $Step)
    $bytes = $Utf8.GetBytes((Get-Secret $Run $Step['secret'] $Step['member']))
    Test-Content $Step['path'] $bytes @{ access = 'private' }
}

function Set-SecretStep {
    [CmdletBinding()]
    param($Run, $Step)
    $bytes = $Utf8.GetBytes((Get-Secret $Run $Step['secret'] $Step['member']))
    Set-FileContent $Step['path'] $bytes @{ access = 'private' }
}

# The file's digest in the form of the given one: sha256:... or sha512:...
function Get-FileDigest {
    [CmdletBinding()]
    param([string] $Path, [string] $Digest)
    $algorithm = $Digest.Split(':')[0]
    if ($algorithm -notin 'sha256', 'sha512') {
        throw (New-Failure 'step-invalid' "$Digest is neither sha256: nor sha512:")
    }
    "${algorithm}:" + (Get-FileHash -LiteralPath $Path -Algorithm $algorithm).Hash.ToLowerInvariant()
}

function Test-ArtifactStep {
    [CmdletBinding()]
    param($Run, $Step)
    [IO.File]::Exists($Step['path']) -and (Get-FileDigest $Step['path'] $Step['digest']) -eq $Step['digest']
}

# Downloads beside the target, checks, then renames: what is at the path was always checked.
function Set-ArtifactStep {
    [CmdletBinding()]
    param($Run, $Step)
    $path, $url = $Step['path'], $Step['url']
    $partial = "$path.part"
    [void][IO.Directory]::CreateDirectory((Split-Path $path))
    try { (New-Object Net.WebClient).DownloadFile($url, $partial) }
    catch { throw (New-Failure 'download-failed' "${url}: $($_.Exception.GetBaseException().Message)") }
    $found = Get-FileDigest $partial $Step['digest']
    if ($found -ne $Step['digest']) {
        [IO.File]::Delete($partial)
        throw (New-Failure 'digest-mismatch' "$url has $found, the plan says $($Step['digest'])")
    }
    if ([IO.File]::Exists($path)) { [IO.File]::Replace($partial, $path, [NullString]::Value) }
    else { [IO.File]::Move($partial, $path) }
}

function Test-EnvironmentStep {
    [CmdletBinding()]
    param($Run, $Step)
    [Environment]::GetEnvironmentVariable($Step['variable'], 'Machine') -ceq $Step['value']
}

function Set-EnvironmentStep {
    [CmdletBinding()]
    param($Run, $Step)
    foreach ($reach in 'Machine', 'Process') {
        [Environment]::SetEnvironmentVariable($Step['variable'], $Step['value'], $reach)
    }
}

# sha256:<hex> of the public key of each certificate in a PEM text, as kubeadm writes it.
function Get-KeyHash {
    [CmdletBinding()]
    param([string] $Pem)
    foreach ($match in [regex]::Matches($Pem, '-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----')) {
        $der = [Convert]::FromBase64String(($match.Groups[1].Value -replace '\s'))
        $start, $end = (Read-Element $der 0)[0, 1]                   # Certificate
        $start, $end = (Read-Element $der $start)[0, 1]              # TBSCertificate (RFC 5280, 4.1)
        if ($der[$start] -eq 0xA0) { $start = (Read-Element $der $start)[1] }   # version
        # serial number, signature, issuer, validity, subject; then subjectPublicKeyInfo
        foreach ($field in 1..5) { $start = (Read-Element $der $start)[1] }
        $key = New-Object byte[] ((Read-Element $der $start)[1] - $start)
        [Array]::Copy($der, $start, $key, 0, $key.Length)
        'sha256:' + (Get-Sha256 $key)
    }
}

# Where the body of the DER element at a place starts, and where the element ends.
function Read-Element {
    [CmdletBinding()]
    param([byte[]] $Der, [int] $Place)
    $length, $start = [int] $Der[$Place + 1], ($Place + 2)
    if ($length -band 0x80) {
        $bytes, $length = ($length -band 0x7F), 0
        for ($each = 0; $each -lt $bytes; $each++) { $length = 256 * $length + $Der[$start + $each] }
        $start += $bytes
    }
    $start, ($start + $length)
}

function Test-CertificateAuthorityStep {
    [CmdletBinding()]
    param($Run, $Step)
    [IO.File]::Exists($Step['path']) -and @(Get-KeyHash ([IO.File]::ReadAllText($Step['path']))) -contains $Step['hash']
}

# What the bundle says counts only with the key that the plan knows.
function Set-CertificateAuthorityStep {
    [CmdletBinding()]
    param($Run, $Step)
    try { $bytes = Invoke-SignedRequest -Url $Step['url'] -Service 's3' }
    catch { throw (New-Failure 'download-failed' "$($Step['url']): $($_.Exception.GetBaseException().Message)") }
    if (@(Get-KeyHash $Utf8.GetString($bytes)) -notcontains $Step['hash']) {
        throw (New-Failure 'digest-mismatch' "$($Step['url']) has no certificate whose key has $($Step['hash'])")
    }
    Set-WholeFile $Step['path'] $bytes
}
