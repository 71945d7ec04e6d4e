# The cluster's CA bundle.

# .SYNOPSIS
# Return sha256:<hex> of the public key of each certificate in a PEM text, in kubeadm's format.
function Get-KeyHash {
    [CmdletBinding()]
    param([string] $Pem)
    foreach ($each in (ConvertFrom-Pem $Pem)) {
        $der = $each.RawData
        $start = (Read-Element $der 0)[0]                            # Certificate
        $start = (Read-Element $der $start)[0]                       # TBSCertificate (RFC 5280, 4.1)
        if ($der[$start] -eq 0xA0) { $start = (Read-Element $der $start)[1] }   # version
        # serial number, signature, issuer, validity, subject; then subjectPublicKeyInfo
        foreach ($field in 1..5) { $start = (Read-Element $der $start)[1] }
        $key = [byte[]]::new((Read-Element $der $start)[1] - $start)
        [Array]::Copy($der, $start, $key, 0, $key.Length)
        'sha256:' + (Get-Sha256 $key)
    }
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
# Return whether a certificate in the file has the plan's key hash.
function Test-CertificateAuthorityStep {
    [CmdletBinding()]
    param($Run, $Step)
    [IO.File]::Exists($Step['path']) -and @(Get-KeyHash ([IO.File]::ReadAllText($Step['path']))) -contains $Step['hash']
}

# .SYNOPSIS
# Fetch the bundle and write it if one certificate has the plan's key hash.
function Set-CertificateAuthorityStep {
    [CmdletBinding()]
    param($Run, $Step)
    try { $bytes = Invoke-SignedRequest -Url $Step['url'] -Service 'store' }
    catch { throw (New-Failure 'download-failed' "$($Step['url']): $($_.Exception.GetBaseException().Message)") }
    if (@(Get-KeyHash $Utf8.GetString($bytes)) -notcontains $Step['hash']) {
        throw (New-Failure 'digest-mismatch' "$($Step['url']) has no certificate whose key has $($Step['hash'])")
    }
    Write-Content $Step['path'] $bytes (Get-WantedAccess $Step)
}
