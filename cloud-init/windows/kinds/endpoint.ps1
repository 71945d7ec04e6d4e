# The version of the API server.

# .SYNOPSIS
# Whether the API server runs at least the version. It tells everybody, so no identity is shown.
function Test-ApiVersionStep {
    [CmdletBinding()]
    param($Run, $Step)
    if (-not $Step['kubectl']) { throw (New-Failure 'step-invalid' 'on Windows kubectl asks; it is not named') }
    $words = 'get', '--raw', '/version', "--server=$($Step['url'])", "--certificate-authority=$($Step['ca'])"
    # Without any user kubectl asks for one and ends; API servers know no passwords, so this one is nobody.
    $said = Invoke-Kubectl $Run $Step['kubectl'] ($words + '--username=nobody' + '--password=none')
    $found = if ($said -match '"gitVersion":\s*"v(\d+\.\d+\.\d+)') { $Matches[1] } else { '' }
    $Run.Seen = "$($Step['url']) has version '$found', wanted $($Step['version']) or newer"
    $found -and [Version] $found -ge [Version] $Step['version']
}

# .SYNOPSIS
# Asks until it does.
function Set-ApiVersionStep {
    [CmdletBinding()]
    param($Run, $Step)
    Wait-Asked $Run $Step 'ApiVersion' 'wait-timeout'
}
