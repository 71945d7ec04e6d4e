# Outbound HTTP: the plan's proxy and its additional certificate authorities.

$Loopback = '169.254.169.254', 'localhost', '127.0.0.1', '::1'

# .SYNOPSIS
# Return whether the address is in the range (10.0.0.0/8).
function Test-InRange {
    [CmdletBinding()]
    param([string] $Name, [string] $Range)
    $network, $bits = $Range.Split('/')
    $address = $null
    if ($null -eq $bits -or -not [Net.IPAddress]::TryParse($Name, [ref] $address)) { return $false }
    if ($address.AddressFamily -ne 'InterNetwork') { return $false }
    (Get-Network $Name ([int] $bits)) -eq (Get-Network $network ([int] $bits))
}

# .SYNOPSIS
# Return the proxy's URL for a URL, or an empty string for a direct connection: to hosts, .suffixes and ranges of
# no_proxy, to the machine itself and to the services in the facts.
function Get-ProxyFor {
    [CmdletBinding()]
    param([hashtable] $Run, [Uri] $Url)
    $proxy = $Run.Egress['proxy']
    if (-not $proxy -or -not $proxy[$Url.Scheme]) { return '' }
    $services = @($Run.Told.facts.Values | Where-Object { $_ -match '^https?://' } | ForEach-Object { ([Uri] $_).Host })
    foreach ($each in $Loopback + $services + @($proxy['no_proxy'] | Where-Object { $_ })) {
        $suffix = '.' + $each.TrimStart('.')
        if ($Url.Host -eq $each -or $Url.Host.EndsWith($suffix, 'OrdinalIgnoreCase')) { return '' }
        if (Test-InRange $Url.Host $each) { return '' }
    }
    $proxy[$Url.Scheme]
}

# .SYNOPSIS
# Return the HTTP client for a URL, one per proxy. It follows no redirects; Resume-Redirect does.
function Get-HttpClient {
    [CmdletBinding()]
    param([hashtable] $Run, [Uri] $Url)
    $proxy = Get-ProxyFor $Run $Url
    if (-not $Run.Clients.ContainsKey($proxy)) {
        [Net.ServicePointManager]::DefaultConnectionLimit = 2 * $AtOnce
        $way = [Net.Http.HttpClientHandler]::new()
        $way.AllowAutoRedirect = $false
        $way.UseProxy = $proxy -ne ''
        if ($proxy) { $way.Proxy = [Net.WebProxy]::new($proxy) }
        if ($Run.Egress['trusted_cas']) {
            $way.ServerCertificateCustomValidationCallback = New-CertificateJudge $Run.Egress['trusted_cas']
        }
        $client = [Net.Http.HttpClient]::new($way)
        $client.Timeout = [Threading.Timeout]::InfiniteTimeSpan
        $Run.Clients[$proxy] = $client
    }
    $Run.Clients[$proxy]
}
