# Windows itself: build, name, registry, features, dynamic ports, Defender, restart.

$Machine = 'HKEY_LOCAL_MACHINE'
$CurrentVersion = 'HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion'
$ComputerName = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName'
$Prefetch = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters'
$Reboots = 5    # restarts in a row before a run gives up
$RegistryKinds = @{
    REG_DWORD = 'DWord'; REG_QWORD = 'QWord'; REG_SZ = 'String'
    REG_EXPAND_SZ = 'ExpandString'; REG_MULTI_SZ = 'MultiString'
}

function Get-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name)
    , [Microsoft.Win32.Registry]::GetValue($Key, $Name, $null)
}

function ConvertTo-RegistryData {
    [CmdletBinding()]
    param([string] $Kind, $Data)
    switch ($Kind) {
        # Values above 2^31 are the same bits as a negative number.
        'DWord' { return [BitConverter]::ToInt32([BitConverter]::GetBytes([uint32] $Data), 0) }
        'QWord' { return [long] $Data }
        'MultiString' { return , [string[]] @($Data) }
        default { return [string] $Data }
    }
}

# The value has the kind and the data. Without expansion, so that %variables% compare as written.
function Test-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name, [string] $Kind, $Data)
    $open = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($Key.Substring($Machine.Length + 1))
    if (-not $open) { return $false }
    try {
        $found = $open.GetValue($Name, $null, 'DoNotExpandEnvironmentNames')
        if ($null -eq $found -or $open.GetValueKind($Name) -ne $Kind) { return $false }
        ($found -join "`n") -ceq ((ConvertTo-RegistryData $Kind $Data) -join "`n")
    }
    finally { $open.Dispose() }
}

function Set-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name, [string] $Kind, $Data)
    [Microsoft.Win32.Registry]::SetValue($Key, $Name, (ConvertTo-RegistryData $Kind $Data), $Kind)
}

# Key with the hive's full name, kind as .NET names it.
function Get-RegistryPlace {
    [CmdletBinding()]
    param($Step)
    if ($Step['key'] -notmatch '^(HKLM:?|HKEY_LOCAL_MACHINE)\\(.+)$') {
        throw (New-Failure 'step-invalid' "$($Step['key']) is not below HKLM")
    }
    $path = $Matches[2]
    $kind = if ($RegistryKinds.ContainsKey($Step['type'])) { $RegistryKinds[$Step['type']] } else { $Step['type'] }
    "$Machine\$path", $kind
}

function Test-RegistryStep {
    [CmdletBinding()]
    param($Run, $Step)
    $key, $kind = Get-RegistryPlace $Step
    Test-RegistryValue $key $Step['value'] $kind $Step['data']
}

function Set-RegistryStep {
    [CmdletBinding()]
    param($Run, $Step)
    $key, $kind = Get-RegistryPlace $Step
    Set-RegistryValue $key $Step['value'] $kind $Step['data']
}

function Test-BuildStep {
    [CmdletBinding()]
    param($Run, $Step)
    $build = Get-RegistryValue $CurrentVersion 'CurrentBuildNumber'
    $revision = [int] (Get-RegistryValue $CurrentVersion 'UBR')
    if ("$build" -ne "$($Step['build'])".Split('.')[-1] -or $revision -lt [int] $Step['minimum_ubr']) {
        $wanted = "$($Step['build']).$([int] $Step['minimum_ubr'])"
        throw (New-Failure 'build-refused' "this is $build.$revision, wanted $wanted or newer of that build")
    }
    $true
}

# The name for the next boot; one that this boot does not use yet asks for a restart.
function Test-HostnameStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ((Get-RegistryValue $ComputerName 'ComputerName') -ne $Step['value']) { return $false }
    if ([Environment]::MachineName -ne $Step['value']) { Request-Reboot }
    $true
}

function Set-HostnameStep {
    [CmdletBinding()]
    param($Run, $Step)
    [void](Rename-Computer -NewName $Step['value'] -Force)
}

function Test-FeatureStep {
    [CmdletBinding()]
    param($Run, $Step)
    $there = "$((Get-WindowsFeature -Name $Step['feature']).InstallState)"
    if ($there -eq 'InstallPending') { Request-Reboot }
    $there -in 'Installed', 'InstallPending'
}

function Set-FeatureStep {
    [CmdletBinding()]
    param($Run, $Step)
    $result = Install-WindowsFeature -Name $Step['feature']
    if (-not $result.Success) { throw (New-Failure 'feature-failed' "$($Step['feature']): $($result.ExitCode)") }
    if ("$($result.RestartNeeded)" -ne 'No') { Request-Reboot }
}

function Get-PortRange {
    [CmdletBinding()]
    param([string] $Protocol)
    # The words are in the system's language; the two numbers are not.
    $shown = & netsh.exe int ipv4 show dynamicportrange $Protocol | Out-String
    @([regex]::Matches($shown, ':\s*(\d+)') | ForEach-Object { [int] $_.Groups[1].Value })
}

function Test-PortRangeStep {
    [CmdletBinding()]
    param($Run, $Step)
    (Get-PortRange $Step['protocol'].ToLowerInvariant()) -join ' ' -eq "$($Step['start']) $($Step['count'])"
}

function Set-PortRangeStep {
    [CmdletBinding()]
    param($Run, $Step)
    $protocol, $start, $count = $Step['protocol'].ToLowerInvariant(), $Step['start'], $Step['count']
    $said = & netsh.exe int ipv4 set dynamicportrange $protocol $start $count
    if ($LASTEXITCODE) { throw (New-Failure 'command-failed' "netsh: $said") }
}

# Server Core without Defender has nothing to leave alone.
function Get-Exclusion {
    [CmdletBinding()]
    param($Step)
    $there = Get-Command Get-MpPreference -ErrorAction Ignore
    if (-not $there -or (Get-ServiceState 'WinDefend') -ne 'RUNNING') { return @{} }
    $now = Get-MpPreference
    $wanted = @{ ExclusionProcess = @($Step['processes']); ExclusionPath = @($Step['paths']) }
    $missing = @{}
    foreach ($name in $wanted.Keys) {
        $lacks = @($wanted[$name] | Where-Object { $_ -and @($now.$name) -notcontains $_ })
        if ($lacks) { $missing[$name] = $lacks }
    }
    $missing
}

function Test-DefenderExclusionStep {
    [CmdletBinding()]
    param($Run, $Step)
    (Get-Exclusion $Step).Count -eq 0
}

function Set-DefenderExclusionStep {
    [CmdletBinding()]
    param($Run, $Step)
    $missing = Get-Exclusion $Step
    Add-MpPreference @missing
}

function Request-Reboot {
    [CmdletBinding()]
    param()
    [void](Update-Memory @{ reboot_asked = [int] (Get-RegistryValue $Prefetch 'BootId') })
}

# No step asked for a restart since this boot.
function Test-RebootStep {
    [CmdletBinding()]
    param($Run, $Step)
    $asked = (Update-Memory)['reboot_asked']
    $null -eq $asked -or $asked -ne [int] (Get-RegistryValue $Prefetch 'BootId')
}

# Counts, then restarts.
function Set-RebootStep {
    [CmdletBinding()]
    param($Run, $Step)
    $count = 1 + [int] (Update-Memory)['reboots']
    if ($count -gt $Reboots) { throw (New-Failure 'reboot-limit' "$Reboots restarts in a row did not finish the plan") }
    [void](Update-Memory @{ reboots = $count })
    Restart-Computer -Force
    throw (New-Failure 'reboot' 'the machine is going down')
}
