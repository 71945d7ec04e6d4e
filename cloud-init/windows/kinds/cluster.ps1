# The cluster's CA bundle.

# .SYNOPSIS
# Return sha256:<hex> of the public key of a certificate (DER), in kubeadm's format.
function Get-KeyHash {
    [CmdletBinding()]
    param([byte[]] $Der)
    $start = (Read-Element $Der 0)[0]                            # Certificate
    $start = (Read-Element $Der $start)[0]                       # TBSCertificate (RFC 5280, 4.1)
    if ($Der[$start] -eq 0xA0) { $start = (Read-Element $Der $start)[1] }   # version
    # serial number, signature, issuer, validity, subject; then subjectPublicKeyInfo
    foreach ($field in 1..5) { $start = (Read-Element $Der $start)[1] }
    $key = [byte[]]::new((Read-Element $Der $start)[1] - $start)
    [Array]::Copy($Der, $start, $key, 0, $key.Length)
    'sha256:' + (Get-Sha256 $key)
}

# .SYNOPSIS
# Return the offsets of the body and of the end of the DER element at an offset.
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

# .SYNOPSIS
# Return the certificates alone, as PEM. Return nothing if there is none, or if one has another key than expected: the
# kubelet accepts clients of every authority in the file.
function Get-PinnedPem {
    [CmdletBinding()]
    param([string] $Pem, [string] $Hash)
    $certificates = ConvertFrom-Pem $Pem
    $others = @($certificates | Where-Object { (Get-KeyHash $_.RawData) -ne $Hash })
    if (-not $certificates.Count -or $others) { return }
    ConvertTo-Pem $certificates
}

# .SYNOPSIS
# Return whether the file has certificates with the plan's key hash, or those that this machine follows; nothing else.
function Test-CertificateAuthorityStep {
    [CmdletBinding()]
    param($Run, $Step)
    if (-not [IO.File]::Exists($Step['path'])) { return $false }
    $pem = [IO.File]::ReadAllText($Step['path'])
    $pem -ceq (Get-PinnedPem $pem $Step['hash']) -or (Test-FollowedPem $pem)
}

# .SYNOPSIS
# Fetch the bundle and write its certificates if each has the plan's key hash.
function Set-CertificateAuthorityStep {
    [CmdletBinding()]
    param($Run, $Step)
    try { $bytes = Invoke-SignedRequest -Url $Step['url'] -Service 'store' }
    catch { throw (New-Failure 'download-failed' "$($Step['url']): $($_.Exception.GetBaseException().Message)") }
    $pem = Get-PinnedPem $Utf8.GetString($bytes) $Step['hash']
    if (-not $pem) {
        $wrong = "has no certificate, or one whose key is not $($Step['hash'])"
        throw (New-Failure 'digest-mismatch' "$($Step['url']) $wrong")
    }
    Write-Content $Step['path'] $Utf8.GetBytes($pem) (Get-WantedAccess $Step)
}
