# The version of the API server.

# .SYNOPSIS
# Return whether the API server has at least the version; /version needs no credentials.
function Test-ApiVersionStep {
    [CmdletBinding()]
    param($Run, $Step)
    if (-not $Step['kubectl']) { throw (New-Failure 'step-invalid' 'the field kubectl is required on Windows') }
    $words = 'get', '--raw', '/version', "--server=$($Step['url'])", "--certificate-authority=$($Step['ca'])"
    # Without credentials kubectl prompts for a user and fails; API servers ignore this user and password.
    $said = Invoke-Kubectl $Run $Step['kubectl'] ($words + '--username=nobody' + '--password=none')
    $found = if ($said -match '"gitVersion":\s*"v(\d+\.\d+\.\d+)') { $Matches[1] } else { '' }
    $Run.Seen = "$($Step['url']) has version '$found', wanted $($Step['version']) or newer"
    $found -and [Version] $found -ge [Version] $Step['version']
}

# .SYNOPSIS
# Poll until the API server has the version.
function Set-ApiVersionStep {
    [CmdletBinding()]
    param($Run, $Step)
    Wait-Asked $Run $Step 'ApiVersion' 'wait-timeout'
}
