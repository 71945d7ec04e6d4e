# Certificate authorities that this machine trusts. It joined by the authority that its user-data pins; from then on it
# trusts what the cluster publishes in kubeadm's ConfigMap cluster-info, if an authority that it trusts signed the API
# server's certificate (docs/pki.md). collect-logs.ps1 asks every two minutes.

$ClusterInfo = '/api/v1/namespaces/kube-public/configmaps/cluster-info'
$TrustedCa, $TrustKubectl = 'C:\k\ca.crt', 'C:\k\kubectl.exe'
$TrustRecord = "$env:ProgramData\mullion\authorities"    # SHA-256 of the followed PEM, then $TrustLoaded
$TrustLoaded = ' loaded'    # the programs that read the file have restarted

# .SYNOPSIS
# Return certificates as PEM, in lines of 64 characters.
function ConvertTo-Pem {
    [CmdletBinding()]
    param($Certificates)
    -join @($Certificates | ForEach-Object {
            $lines = [Convert]::ToBase64String($_.RawData) -replace '(.{64})(?=.)', "`$1`n"
            "-----BEGIN CERTIFICATE-----`n$lines`n-----END CERTIFICATE-----`n"
        })
}

# .SYNOPSIS
# Return the authorities that the cluster publishes, as PEM; empty if the API does not answer or publishes none.
function Get-PublishedPem {
    [CmdletBinding()]
    param([hashtable] $Run)
    $words = 'get', '--raw', $ClusterInfo, "--server=$($Run.Told['facts']['api_url'])"
    # Without credentials kubectl prompts for a user and fails; API servers ignore this user and password.
    $words += "--certificate-authority=$TrustedCa", '--username=nobody', '--password=none'
    $said = Invoke-Kubectl $Run $TrustKubectl $words
    if ($said -notmatch 'certificate-authority-data: *([A-Za-z0-9+/=]+)') { return '' }
    ConvertTo-Pem (ConvertFrom-Pem $Utf8.GetString([Convert]::FromBase64String($Matches[1])))
}

# .SYNOPSIS
# Return the SHA-256 (hex) of the CA file, for the status record; empty before the machine has one.
function Get-TrustDigest {
    [CmdletBinding()]
    param()
    if ([IO.File]::Exists($TrustedCa)) { Get-Sha256 ([IO.File]::ReadAllBytes($TrustedCa)) } else { '' }
}

# .SYNOPSIS
# Return whether this machine follows the cluster with exactly these authorities.
function Test-FollowedPem {
    [CmdletBinding()]
    param([string] $Pem)
    [IO.File]::Exists($TrustRecord) -and
    ([IO.File]::ReadAllText($TrustRecord) -replace "$TrustLoaded`$") -eq (Get-Sha256 $Utf8.GetBytes($Pem))
}

# .SYNOPSIS
# Return the published authorities if this machine does not trust exactly them, or if its programs have not restarted
# since; empty otherwise, and before it has joined.
function Get-NewTrust {
    [CmdletBinding()]
    param([hashtable] $Run)
    if (-not ([IO.File]::Exists($NodeCertificate) -and [IO.File]::Exists($TrustedCa))) { return '' }
    $pem = Get-PublishedPem $Run
    if (-not $pem) { return '' }
    $begun = [IO.File]::Exists($TrustRecord) -and -not [IO.File]::ReadAllText($TrustRecord).EndsWith($TrustLoaded)
    if (-not $begun -and $pem -ceq [IO.File]::ReadAllText($TrustedCa)) { '' } else { $pem }
}

# .SYNOPSIS
# Return whether an authority in the CA file has the name of the certificate's issuer; true without the file.
function Test-TrustedIssuer {
    [CmdletBinding()]
    param($Certificate)
    if (-not [IO.File]::Exists($TrustedCa)) { return $true }
    $Certificate.Issuer -in @(ConvertFrom-Pem ([IO.File]::ReadAllText($TrustedCa)) | ForEach-Object { $_.Subject })
}
