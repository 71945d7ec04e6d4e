# Certificate authorities that this machine trusts. It joined by the authority that its user-data pins; from then on it
# trusts what the cluster publishes in kubeadm's ConfigMap cluster-info, if an authority that it trusts signed the API
# server's certificate, and if the agent published it later than what the machine followed last: a ConfigMap that a
# restore brought back is older (docs/pki.md). collect-logs.ps1 asks every two minutes.

$ClusterInfo = '/api/v1/namespaces/kube-public/configmaps/cluster-info'
$TrustedCa, $TrustKubectl = 'C:\k\ca.crt', 'C:\k\kubectl.exe'
# Words: SHA-256 of the followed PEM; when it was published, seconds since 1970; $TrustLoaded once its readers restarted
$TrustRecord, $TrustLoaded = "$env:ProgramData\mullion\authorities", 'loaded'
$TrustReported = "$env:ProgramData\mullion\reported"    # what the last status record that was written says of them
$TrustSeconds = 60    # for the question; the task runs every two minutes
$TrustMoment = '"mullion\.dev/authorities": *"(\d{1,18})"'    # annotation

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
# Return the authorities that the cluster publishes: Pem, and Moment, 0 if no agent has written them. Return nothing if
# the API does not answer or publishes none.
function Get-PublishedTrust {
    [CmdletBinding()]
    param([hashtable] $Run)
    $words = 'get', '--raw', $ClusterInfo, "--server=$($Run.Told['facts']['api_url'])"
    # Without credentials kubectl prompts for a user and fails; API servers ignore this user and password.
    $words += "--certificate-authority=$TrustedCa", '--username=nobody', '--password=none'
    $said = Invoke-Kubectl (New-TimedRun $Run $TrustSeconds) $TrustKubectl $words
    if ($said -notmatch 'certificate-authority-data: *([A-Za-z0-9+/=]+)') { return }
    $pem = ConvertTo-Pem (ConvertFrom-Pem $Utf8.GetString([Convert]::FromBase64String($Matches[1])))
    $moment = if ($said -match $TrustMoment) { [long] $Matches[1] } else { 0 }
    if ($pem) { @{ Pem = $pem; Moment = $moment } }
}

# .SYNOPSIS
# Return the SHA-256 (hex) of each certificate in PEM, in order.
function Get-Fingerprint {
    [CmdletBinding()]
    param([string] $Pem)
    ConvertFrom-Pem $Pem | ForEach-Object { $_ } | ForEach-Object { Get-Sha256 $_.RawData }
}

# .SYNOPSIS
# Return the fingerprints in the CA file with commas, for the status record; empty before the machine has one.
function Get-TrustText {
    [CmdletBinding()]
    param()
    if ([IO.File]::Exists($TrustedCa)) { @(Get-Fingerprint ([IO.File]::ReadAllText($TrustedCa))) -join ',' } else { '' }
}

# .SYNOPSIS
# Return the common names of the authorities that signed the kubelet's client and serving certificate, with a comma, for
# the status record; empty for a certificate that it does not have.
function Get-SignerText {
    [CmdletBinding()]
    param()
    $names = 'client', 'server' | ForEach-Object {
        $file = $NodeCertificate.Replace('-client-', "-$_-")
        $pem = if ([IO.File]::Exists($file)) { [IO.File]::ReadAllText($file) } else { '' }
        $found = @(ConvertFrom-Pem $pem | ForEach-Object { $_ })
        if ($found.Count) { $found[0].GetNameInfo('SimpleName', $true) } else { '' }
    }
    $names -join ','
}

# .SYNOPSIS
# Return whether the last status record says what this machine trusts now.
function Test-TrustReported {
    [CmdletBinding()]
    param()
    [IO.File]::Exists($TrustReported) -and
    [IO.File]::ReadAllText($TrustReported) -ceq "$(Get-TrustText) $(Get-SignerText)"
}

# .SYNOPSIS
# Return the words of $TrustRecord; none before the machine has followed.
function Get-TrustRecord {
    [CmdletBinding()]
    param()
    if ([IO.File]::Exists($TrustRecord)) { , ([IO.File]::ReadAllText($TrustRecord) -split ' ') } else { , @() }
}

# .SYNOPSIS
# Return whether this machine follows the cluster with exactly these authorities.
function Test-FollowedPem {
    [CmdletBinding()]
    param([string] $Pem)
    $words = Get-TrustRecord
    $words.Count -and $words[0] -eq (Get-Sha256 $Utf8.GetBytes($Pem))
}

# .SYNOPSIS
# Return the published authorities if this machine does not trust exactly them, or if its programs have not restarted
# since; nothing otherwise, and before it has joined. Their order says who signs, which no worker needs.
function Get-NewTrust {
    [CmdletBinding()]
    param([hashtable] $Run)
    if (-not ([IO.File]::Exists($NodeCertificate) -and [IO.File]::Exists($TrustedCa))) { return }
    $found, $words = (Get-PublishedTrust $Run), (Get-TrustRecord)
    if (-not $found -or -not $found.Moment) { return }
    if ($words.Count -and $found.Moment -lt [long] $words[1]) { return }
    $begun = $words.Count -and $words[-1] -ne $TrustLoaded
    $wanted = @(Get-Fingerprint $found.Pem | Sort-Object) -join ','
    $has = @(Get-Fingerprint ([IO.File]::ReadAllText($TrustedCa)) | Sort-Object) -join ','
    if ($begun -or $wanted -ne $has) { $found }
}

# .SYNOPSIS
# Return whether authorities in the CA file have the names of the certificates' issuers; true without the file.
function Test-TrustedIssuer {
    [CmdletBinding()]
    param($Certificates)
    if (-not [IO.File]::Exists($TrustedCa)) { return $true }
    $trusted = @(ConvertFrom-Pem ([IO.File]::ReadAllText($TrustedCa)) | ForEach-Object { $_ } | ForEach-Object Subject)
    -not @($Certificates | Where-Object { $_.Issuer -notin $trusted })
}
