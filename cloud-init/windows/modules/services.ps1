# Services, programs that run once, conditions to wait for.

$ServiceRoot = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services'
$StartSeconds = 60
$PollSeconds = 2

function Get-ServiceState {
    [CmdletBinding()]
    param([string] $Name)
    $answer = Invoke-Program 'sc.exe' @('query', $Name) -AllowFailure
    if ($answer.Code -eq 0 -and $answer.Output -match '(?m)^\s*STATE\s*:\s*\d+\s+(\w+)') { $Matches[1] } else { '' }
}

# Registry values of a service step by path below the service: @{ path = @{ name = kind, data } }.
# A program without a service mode runs in nssm, whose settings are values too (nssm.cc, "Usage").
function Get-ServiceValue {
    [CmdletBinding()]
    param($Step)
    $words = @($Step['command'] | ForEach-Object { ConvertTo-Argument $_ })
    $own = @{ Start = 'DWord', 2; ImagePath = 'ExpandString', ($words -join ' ') }
    $variables = [string[]] @(@($Step['environment']).Where({ $_ }) | ForEach-Object {
            $map = $_
            $map.Keys | Sort-Object | ForEach-Object { "$_=$($map[$_])" }
        })
    if ($Step['depends']) { $own['DependOnService'] = 'MultiString', [string[]] @($Step['depends']) }
    if (-not $Step['wrapper']) {
        if ($variables) { $own['Environment'] = 'MultiString', $variables }
        return @{ '' = $own }
    }
    $own['ImagePath'] = 'ExpandString', (ConvertTo-Argument $Step['wrapper'])
    $milliseconds = 1000 * $(if ($Step['restart_seconds']) { $Step['restart_seconds'] } else { 10 })
    $inner = @{
        Application = 'ExpandString', $Step['command'][0]
        AppParameters = 'ExpandString', (@($words | Select-Object -Skip 1) -join ' ')
        AppDirectory = 'ExpandString', (Split-Path $Step['command'][0])
        AppRestartDelay = 'DWord', $milliseconds
    }
    if ($variables) { $inner['AppEnvironmentExtra'] = 'MultiString', $variables }
    if ($Step['log']) { foreach ($name in 'AppStdout', 'AppStderr') { $inner[$name] = 'ExpandString', $Step['log'] } }
    @{ '' = $own; '\Parameters' = $inner; '\Parameters\AppExit' = @{ '' = 'String', 'Restart' } }
}

function Test-ServiceStep {
    [CmdletBinding()]
    param($Run, $Step)
    $values = Get-ServiceValue $Step
    foreach ($path in $values.Keys) {
        foreach ($name in $values[$path].Keys) {
            $key = "$ServiceRoot\$($Step['service'])$path"
            $kind, $data = $values[$path][$name]
            if (-not (Test-RegistryValue $key $name $kind $data)) { return $false }
        }
    }
    $Step['start'] -eq 'boot' -or (Get-ServiceState $Step['service']) -eq 'RUNNING'
}

function Set-ServiceStep {
    [CmdletBinding()]
    param($Run, $Step)
    $name, $values = $Step['service'], (Get-ServiceValue $Step)
    $there = (Get-ServiceState $name) -ne ''
    if ($there) { Stop-RunningService $name }
    $verb = if ($there) { 'config' } else { 'create' }
    $words = $verb, $name, 'binPath=', $values['']['ImagePath'][1], 'start=', 'auto'
    if ($Step['depends']) { $words += 'depend=', (@($Step['depends']) -join '/') }
    [void](Invoke-Program 'sc.exe' $words)
    if ($Step['description']) { [void](Invoke-Program 'sc.exe' @('description', $name, $Step['description'])) }
    $wait = 1000 * $(if ($Step['restart_seconds']) { $Step['restart_seconds'] } else { 10 })
    [void](Invoke-Program 'sc.exe' @('failure', $name, 'reset=', '0', 'actions=', "restart/$wait"))
    foreach ($path in $values.Keys) {
        foreach ($value in $values[$path].Keys) {
            $kind, $data = $values[$path][$value]
            Set-RegistryValue "$ServiceRoot\$name$path" $value $kind $data
        }
    }
    if ($Step['log']) { [void][IO.Directory]::CreateDirectory((Split-Path $Step['log'])) }
    if ($Step['start'] -eq 'boot') { return }
    $started = Invoke-Program 'sc.exe' @('start', $name) -AllowFailure
    for ($second = 0; $second -lt $StartSeconds; $second++) {
        $now = Get-ServiceState $name
        if ($now -eq 'RUNNING') { return }
        if ($now -eq 'STOPPED') { break }
        Start-Sleep -Seconds 1
    }
    throw (New-Failure 'service-failed' "$name is $now; $($started.Output.Trim())")
}

function Stop-RunningService {
    [CmdletBinding()]
    param([string] $Name)
    [void](Invoke-Program 'sc.exe' @('stop', $Name) -AllowFailure)
    for ($second = 0; $second -lt $StartSeconds -and (Get-ServiceState $Name) -ne 'STOPPED'; $second++) {
        Start-Sleep -Seconds 1
    }
}

# What it creates is there; without `creates`, it ran in this run. Without what it requires it is not due.
function Test-CommandStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ($Step['requires'] -and -not (Test-Path -LiteralPath $Step['requires'])) { return $true }
    if ($Step['creates']) { return Test-Path -LiteralPath $Step['creates'] }
    $Run.Done.ContainsKey($Step['name'])
}

function Set-CommandStep {
    [CmdletBinding()]
    param($Run, $Step)
    $text = $Step['input']
    if ($null -ne $text -and $text -isnot [string]) { $text = ConvertTo-JsonText $text }
    $program = @{
        Program = $Step['argv'][0]
        Arguments = @($Step['argv'] | Select-Object -Skip 1)
        TimeoutSeconds = if ($Step['timeout_seconds']) { $Step['timeout_seconds'] } else { 600 }
        Environment = $Step['environment']
        InputText = $text
    }
    [void](Invoke-Program @program)
    $Run.Done[$Step['name']] = $true
}

# The address is one of this machine's, or the name resolves.
function Test-Address {
    [CmdletBinding()]
    param([string] $Name)
    $address = $null
    if (-not [Net.IPAddress]::TryParse($Name, [ref] $address)) { return [bool] [Net.Dns]::GetHostAddresses($Name) }
    $probe = New-Object Net.Sockets.Socket $address.AddressFamily, 'Dgram', 'Udp'
    try { $probe.Bind((New-Object Net.IPEndPoint $address, 0)) } finally { $probe.Dispose() }
    $true
}

function Test-Tcp {
    [CmdletBinding()]
    param($Place)
    $client = New-Object Net.Sockets.TcpClient
    try { $client.ConnectAsync([string] $Place[0], [int] $Place[1]).Wait(5000) } finally { $client.Dispose() }
}

# The URL answers below 500. Its certificate is not judged: nothing is sent, nothing that it says is used.
function Test-Url {
    [CmdletBinding()]
    param([string] $Url)
    $request = [Net.WebRequest]::Create($Url)
    $request.Timeout = 5000
    try { $request.GetResponse().Dispose() }
    catch {
        for ($cause = $_.Exception; $cause; $cause = $cause.InnerException) {
            if ($cause -is [Security.Authentication.AuthenticationException]) { return $true }
            $answer = if ($cause -is [Net.WebException]) { $cause.Response }
            if ($answer) { return [int] $answer.StatusCode -lt 500 }
        }
        return $false
    }
    $true
}

function Test-WaitStep {
    [CmdletBinding()]
    param($Run, $Step)
    $name = @($Step['condition'].Keys)[0]
    $value = $Step['condition'][$name]
    try {
        switch ($name) {
            'address' { return Test-Address $value }
            'tcp' { return Test-Tcp $value }
            'url' { return Test-Url $value }
            'file' { return Test-Path -LiteralPath $value }
            'service' { return (Get-ServiceState $value) -eq 'RUNNING' }
        }
    }
    catch [Net.Sockets.SocketException], [AggregateException] { return $false }
    throw (New-Failure 'step-invalid' "'$name' is no condition")
}

function Set-WaitStep {
    [CmdletBinding()]
    param($Run, $Step)
    $seconds = if ($Step['timeout_seconds']) { $Step['timeout_seconds'] } else { 300 }
    $watch = [Diagnostics.Stopwatch]::StartNew()
    while (-not (Test-WaitStep $Run $Step)) {
        if ($watch.Elapsed.TotalSeconds -gt $seconds) {
            throw (New-Failure 'wait-timeout' "$(ConvertTo-JsonText $Step['condition']) did not hold within $seconds s")
        }
        Start-Sleep -Seconds $PollSeconds
    }
}
