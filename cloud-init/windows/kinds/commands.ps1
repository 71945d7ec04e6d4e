# Programs that run once, programs that only read, and conditions to wait for.

# .SYNOPSIS
# Return whether the file or folder exists.
function Test-There {
    [CmdletBinding()]
    param([string] $Path)
    [IO.File]::Exists($Path) -or [IO.Directory]::Exists($Path)
}

# .SYNOPSIS
# Return $true if `requires` does not exist, if `creates` exists, or (without `creates`) if it ran in this run.
function Test-CommandStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ($Step['requires'] -and -not (Test-There $Step['requires'])) { return $true }
    if ($Step['creates']) { return Test-There $Step['creates'] }
    $Run.Done.ContainsKey($Step['name'])
}

# .SYNOPSIS
# Run the program with `input` on its standard input.
function Set-CommandStep {
    [CmdletBinding()]
    param($Run, $Step)
    $text = $Step['input']
    if ($null -ne $text -and $text -isnot [string]) { $text = ConvertTo-JsonText $text }
    $program = @{
        Program = $Step['argv'][0]
        Arguments = @($Step['argv'] | Select-Object -Skip 1)
        TimeoutSeconds = Get-SecondsLeft $Run
        Environment = $Step['environment']
        InputText = $text
    }
    [void](Invoke-Program @program)
    $Run.Done[$Step['name']] = $true
}

# .SYNOPSIS
# Return $true if the output matches `expect`; throw probe-failed otherwise.
function Test-ProbeStep {
    [CmdletBinding()]
    param($Run, $Step)
    $program = @{
        Program = $Step['argv'][0]; Arguments = @($Step['argv'] | Select-Object -Skip 1)
        TimeoutSeconds = Get-SecondsLeft $Run; AllowFailure = $true
    }
    $answer = Invoke-Program @program
    $said = $answer.Output.Trim()
    $wanted = if ($Step['expect']) { '\A(?:' + $Step['expect'] + ')\z' } else { '.' }
    if ($answer.Code -ne 0 -or $said -cnotmatch $wanted) {
        $shown = $said.Substring(0, [Math]::Min($Shown, $said.Length))
        throw (New-Failure 'probe-failed' "$($Step['message']): it ended with $($answer.Code) and said '$shown'")
    }
    if ($Step['records']) { $Run.Found[$Step['records']] = $said }
    $true
}

# .SYNOPSIS
# Return whether the address is one of this machine's, or the name resolves.
function Test-Address {
    [CmdletBinding()]
    param([string] $Name)
    $address = $null
    if (-not [Net.IPAddress]::TryParse($Name, [ref] $address)) { return [bool] [Net.Dns]::GetHostAddresses($Name) }
    $probe = [Net.Sockets.Socket]::new($address.AddressFamily, 'Dgram', 'Udp')
    try { $probe.Bind([Net.IPEndPoint]::new($address, 0)) } finally { $probe.Dispose() }
    $true
}

# .SYNOPSIS
# Return whether the host and port accept a connection.
function Test-Tcp {
    [CmdletBinding()]
    param($Place)
    $client = [Net.Sockets.TcpClient]::new()
    try { $client.ConnectAsync([string] $Place[0], [int] $Place[1]).Wait(5000) } finally { $client.Dispose() }
}

# .SYNOPSIS
# Return whether the URL answers with a status below 500. The certificate is not verified: no data is used. Only the
# plan says which proxy is used, never the SYSTEM account's settings or WPAD.
function Test-Url {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Url)
    $proxy, $request = (Get-ProxyFor $Run $Url), [Net.WebRequest]::Create($Url)
    $request.Proxy = if ($proxy) { [Net.WebProxy]::new($proxy) }
    $request.Timeout = 5000
    try { $request.GetResponse().Dispose() }
    catch {
        for ($cause = $_.Exception; $cause; $cause = $cause.InnerException) {
            if ($cause -is [Security.Authentication.AuthenticationException]) { return $true }
            $answer = if ($cause -is [Net.WebException]) { $cause.Response }
            if ($answer) {
                $code = [int] $answer.StatusCode
                $answer.Dispose()
                return $code -lt 500
            }
        }
        return $false
    }
    $true
}

# .SYNOPSIS
# Return whether the condition holds now.
function Test-WaitStep {
    [CmdletBinding()]
    param($Run, $Step)
    $name = @($Step['condition'].Keys)[0]
    $value = $Step['condition'][$name]
    try {
        switch ($name) {
            'address' { return Test-Address $value }
            'tcp' { return Test-Tcp $value }
            'url' { return Test-Url $Run $value }
            'file' { return Test-There $value }
            'service' { return Test-Running $Run $value }
        }
    }
    catch [Net.Sockets.SocketException], [AggregateException] { return $false }
    throw (New-Failure 'step-invalid' "'$name' is no condition")
}

# .SYNOPSIS
# Poll until the condition holds; throw after the step's timeout.
function Set-WaitStep {
    [CmdletBinding()]
    param($Run, $Step)
    while (-not (Test-WaitStep $Run $Step)) {
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            $what = ConvertTo-JsonText $Step['condition']
            $name = if ($Step['error']) { $Step['error'] } else { 'wait-timeout' }
            throw (New-Failure $name "$what did not hold within $($Run.Limit) s")
        }
        Wait-Poll $Run
    }
}
