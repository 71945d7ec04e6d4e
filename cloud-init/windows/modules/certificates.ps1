# Verification of server certificates against the system's roots and the plan's additional authorities.

# Windows PowerShell 5.1 does not load this assembly itself. This file is the first that names its types; downloads.ps1
# and egress.ps1 come after it.
Add-Type -AssemblyName System.Net.Http

$PemCertificate = '-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----'
$Https = '1.3.6.1.5.5.7.3.1'    # extended key usage: server authentication (RFC 5280, 4.2.1.12)

# .SYNOPSIS
# Return the certificates of PEM texts, without those that cannot be parsed.
function ConvertFrom-Pem {
    [CmdletBinding()]
    param([string[]] $Pem)
    $found = [Security.Cryptography.X509Certificates.X509Certificate2Collection]::new()
    foreach ($match in [regex]::Matches($Pem -join "`n", $PemCertificate)) {
        try {
            $der = [Convert]::FromBase64String(($match.Groups[1].Value -replace '\s'))
            [void]$found.Add([Security.Cryptography.X509Certificates.X509Certificate2]::new($der))
        }
        catch { [void] 'it is none' }
    }
    , $found
}

# .SYNOPSIS
# Return expressions that build a new chain for the server's certificate, up to any root.
function Get-ChainExpression {
    [CmdletBinding()]
    param($Own, $Sent, $Authorities)
    $make = [Linq.Expressions.Expression]
    $policy = $make::Property($Own, 'ChainPolicy')
    $store = $make::Property($policy, 'ExtraStore')
    $collection = [Security.Cryptography.X509Certificates.X509Certificate2Collection]
    $add = $collection.GetMethod('AddRange', [type[]] @(, $collection))
    $usage = [Security.Cryptography.OidCollection].GetMethod('Add', [type[]] @(, [Security.Cryptography.Oid]))
    # PowerShell reads ::New as a constructor of Expression.
    $new = $make.GetMethod('New', [type[]] @(, [type]))
    $make::Assign($Own, $new.Invoke($null, @(, [Security.Cryptography.X509Certificates.X509Chain])))
    # No revocation check: nodes without internet access reach no list, and .NET's clients do not check by default
    # either.
    $make::Assign($make::Property($policy, 'RevocationMode'),
        $make::Constant([Security.Cryptography.X509Certificates.X509RevocationMode]::NoCheck))
    $make::Assign($make::Property($policy, 'VerificationFlags'), $make::Constant(
            [Security.Cryptography.X509Certificates.X509VerificationFlags]::AllowUnknownCertificateAuthority))
    $make::Call($store, $add, [Linq.Expressions.Expression[]] @(, $make::Constant($Authorities)))
    $make::Call($store, $add, [Linq.Expressions.Expression[]] @(,
            $make::Property($make::Property($Sent, 'ChainPolicy'), 'ExtraStore')))
    $make::Call($make::Property($policy, 'ApplicationPolicy'), $usage,
        [Linq.Expressions.Expression[]] @(, $make::Constant([Security.Cryptography.Oid]::new($Https))))
}

# .SYNOPSIS
# Return an expression that is true if the chain has no other error than an unknown authority.
function Get-SoundExpression {
    [CmdletBinding()]
    param($Own)
    $make = [Linq.Expressions.Expression]
    $type = [Security.Cryptography.X509Certificates.X509ChainStatus]
    $one = $make::Parameter($type)
    $unknown = [int] [Security.Cryptography.X509Certificates.X509ChainStatusFlags] 'UntrustedRoot, PartialChain'
    $other = $make::And($make::Convert($make::Property($one, 'Status'), [int]), $make::Constant(-bnot $unknown))
    $test = [Predicate[Security.Cryptography.X509Certificates.X509ChainStatus]]
    $sound = $make::Equal($other, $make::Constant(0))
    $lambda = $make::Lambda($test, $sound, [Linq.Expressions.ParameterExpression[]] @(, $one))
    $all = [Array].GetMethod('TrueForAll').MakeGenericMethod($type)
    $make::Call($all, [Linq.Expressions.Expression[]] @($make::Property($Own, 'ChainStatus'),
            $make::Constant($lambda.Compile())))
}

# .SYNOPSIS
# Return a delegate that verifies a server's certificate (request, certificate, chain, errors). It returns true if the
# system finds no error, or if the only error is an unknown authority and the chain ends in one of these certificates.
# Compiled, because it is called on threads that cannot run PowerShell.
function New-CertificateJudge {
    [CmdletBinding()]
    param([string[]] $Pem)
    $make = [Linq.Expressions.Expression]
    $authorities = ConvertFrom-Pem $Pem
    $known = [Collections.Generic.HashSet[string]]::new()
    foreach ($each in $authorities) { [void]$known.Add([Convert]::ToBase64String($each.RawData)) }
    $judge = [Func[Net.Http.HttpRequestMessage, Security.Cryptography.X509Certificates.X509Certificate2,
        Security.Cryptography.X509Certificates.X509Chain, Net.Security.SslPolicyErrors, bool]]
    $takes = @($judge.GetGenericArguments()[0..3] | ForEach-Object { $make::Parameter($_) })
    $own = $make::Variable([Security.Cryptography.X509Certificates.X509Chain])
    $elements = $make::Property($own, 'ChainElements')
    $last = $make::Property($elements, 'Item', [Linq.Expressions.Expression[]] @(,
            $make::Subtract($make::Property($elements, 'Count'), $make::Constant(1))))
    $bytes = $make::Property($make::Property($last, 'Certificate'), 'RawData')
    $encode = [Convert].GetMethod('ToBase64String', [type[]] @(, [byte[]]))
    $text = $make::Call($encode, [Linq.Expressions.Expression[]] @(, $bytes))
    $ends = $make::Call($make::Constant($known), $known.GetType().GetMethod('Contains'),
        [Linq.Expressions.Expression[]] @(, $text))
    $build = $make::Call($own, [Security.Cryptography.X509Certificates.X509Chain].GetMethod('Build'),
        [Linq.Expressions.Expression[]] @(, $takes[1]))
    $lines = @(Get-ChainExpression $own $takes[2] $authorities) + $make::AndAlso($build,
        $make::AndAlso((Get-SoundExpression $own), $ends))
    $locals = [Linq.Expressions.ParameterExpression[]] @(, $own)
    $good = $make::Block([bool], $locals, [Linq.Expressions.Expression[]] $lines)
    $none, $authority = 'None', 'RemoteCertificateChainErrors' | ForEach-Object {
        $make::Equal($takes[3], $make::Constant([Net.Security.SslPolicyErrors] $_))
    }
    $body = $make::OrElse($none, $make::AndAlso($authority, $good))
    $make::Lambda($judge, $body, [Linq.Expressions.ParameterExpression[]] $takes).Compile()
}
