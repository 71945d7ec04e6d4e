# The registry, and what is kept there: variables, build, host name, page file, restarts asked for.

$Machine = 'HKEY_LOCAL_MACHINE'
$CurrentVersion = 'HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion'
$ComputerName = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName'
$Memory = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management'
$Reboots = 5    # restarts in a row before a run gives up

# .SYNOPSIS
# A value, or $null.
function Get-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name)
    , [Microsoft.Win32.Registry]::GetValue($Key, $Name, $null)
}

# .SYNOPSIS
# The data as .NET writes and reads it.
function ConvertTo-RegistryData {
    [CmdletBinding()]
    param([string] $Kind, $Data)
    switch ($Kind) {
        # Values above 2^31 are the same bits as a negative number.
        'DWord' { return [BitConverter]::ToInt32([BitConverter]::GetBytes([uint32] $Data), 0) }
        'QWord' { return [long] $Data }
        'MultiString' { return , [string[]] @($Data) }
        'Binary' { return , [Convert]::FromBase64String($Data) }
        default { return [string] $Data }
    }
}

# .SYNOPSIS
# Whether the value has the kind and the data; with an empty list, whether there is none. Without expansion, so that
# %variables% compare as written.
function Test-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name, [string] $Kind, $Data)
    $open = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($Key.Substring($Machine.Length + 1))
    if (-not $open) { return $false }
    try {
        $found = $open.GetValue($Name, $null, 'DoNotExpandEnvironmentNames')
        $none = $Kind -eq 'MultiString' -and -not @($Data).Count
        if ($null -eq $found -or $none) { return $none -and $null -eq $found }
        if ("$($open.GetValueKind($Name))" -ne $Kind) { return $false }
        ($found -join "`n") -ceq ((ConvertTo-RegistryData $Kind $Data) -join "`n")
    }
    finally { $open.Dispose() }
}

# .SYNOPSIS
# Writes the value; an empty list takes it away.
function Set-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name, [string] $Kind, $Data)
    if ($Kind -eq 'MultiString' -and -not @($Data).Count) {
        $open = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($Key.Substring($Machine.Length + 1), $true)
        if ($open) { try { $open.DeleteValue($Name, $false) } finally { $open.Dispose() } }
        return
    }
    [Microsoft.Win32.Registry]::SetValue($Key, $Name, (ConvertTo-RegistryData $Kind $Data), $Kind)
}

# .SYNOPSIS
# The key of a step with the hive's full name.
function Get-RegistryKey {
    [CmdletBinding()]
    param($Step)
    if ($Step['key'] -notmatch '^(HKLM:?|HKEY_LOCAL_MACHINE)\\(.+)$') {
        throw (New-Failure 'step-invalid' "$($Step['key']) is not below HKLM")
    }
    "$Machine\$($Matches[2])"
}

# .SYNOPSIS
# Whether the value is as wanted.
function Test-RegistryStep {
    [CmdletBinding()]
    param($Run, $Step)
    $data, $type = $Step['data'], $Step['type']
    $fits = switch ($type) {
        'MultiString' { $data -is [Collections.IList] }
        { $_ -in 'DWord', 'QWord' } { ($data -is [int] -or $data -is [long]) -and $data -ge 0 }
        default { $data -is [string] }
    }
    if (-not $fits -or ($type -eq 'DWord' -and $data -gt [uint32]::MaxValue)) {
        throw (New-Failure 'step-invalid' "data is not of type $type")
    }
    Test-RegistryValue (Get-RegistryKey $Step) $Step['value'] $type $data
}

# .SYNOPSIS
# Writes the value.
function Set-RegistryStep {
    [CmdletBinding()]
    param($Run, $Step)
    Set-RegistryValue (Get-RegistryKey $Step) $Step['value'] $Step['type'] $Step['data']
}

# .SYNOPSIS
# Whether the machine's variable has the value.
function Test-EnvironmentStep {
    [CmdletBinding()]
    param($Run, $Step)
    [Environment]::GetEnvironmentVariable($Step['variable'], 'Machine') -ceq $Step['value']
}

# .SYNOPSIS
# Sets the variable for processes from now on, this one and its children included.
function Set-EnvironmentStep {
    [CmdletBinding()]
    param($Run, $Step)
    foreach ($reach in 'Machine', 'Process') {
        [Environment]::SetEnvironmentVariable($Step['variable'], $Step['value'], $reach)
    }
}

# .SYNOPSIS
# The machine runs the build; anything else ends the run.
function Test-BuildStep {
    [CmdletBinding()]
    param($Run, $Step)
    $build = Get-RegistryValue $CurrentVersion 'CurrentBuildNumber'
    $revision = [int] (Get-RegistryValue $CurrentVersion 'UBR')
    if ("$build" -ne $Step['build'].Split('.')[-1] -or $revision -lt [int] $Step['minimum_ubr']) {
        $wanted = "$($Step['build']).$([int] $Step['minimum_ubr'])"
        throw (New-Failure 'build-refused' "this is $build.$revision, wanted $wanted or newer of that build")
    }
    $true
}

# .SYNOPSIS
# The name for the next boot; one that this boot does not use yet asks for a restart, unless the step says no.
function Test-HostnameStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ((Get-RegistryValue $ComputerName 'ComputerName') -ne $Step['value']) { return $false }
    if ($Step['restart'] -ne $false -and [Environment]::MachineName -ne $Step['value']) { Request-Reboot $Run }
    $true
}

# .SYNOPSIS
# Names the machine for the next boot.
function Set-HostnameStep {
    [CmdletBinding()]
    param($Run, $Step)
    [void](Rename-Computer -NewName $Step['value'] -Force)
}

# .SYNOPSIS
# The page file that Windows is told to make, as its own setting says it.
function Get-PageFile {
    [CmdletBinding()]
    param($Step)
    if ($Step['maximum_mb'] -lt $Step['initial_mb']) {
        throw (New-Failure 'step-invalid' 'maximum_mb is less than initial_mb')
    }
    , [string[]] @("C:\pagefile.sys $($Step['initial_mb']) $($Step['maximum_mb'])")
}

# .SYNOPSIS
# Whether the page file has its size; "?:\pagefile.sys" would leave it to Windows.
function Test-PagefileStep {
    [CmdletBinding()]
    param($Run, $Step)
    Test-RegistryValue $Memory 'PagingFiles' 'MultiString' (Get-PageFile $Step)
}

# .SYNOPSIS
# Sets the size for the next boot.
function Set-PagefileStep {
    [CmdletBinding()]
    param($Run, $Step)
    Request-Reboot $Run
    Set-RegistryValue $Memory 'PagingFiles' 'MultiString' (Get-PageFile $Step)
}

# .SYNOPSIS
# The number of this boot.
function Get-BootId {
    [CmdletBinding()]
    param()
    [int] (Get-RegistryValue "$Memory\PrefetchParameters" 'BootId')
}

# .SYNOPSIS
# Notes that what was set holds after a restart only.
function Request-Reboot {
    [CmdletBinding()]
    param([hashtable] $Run)
    $boot = Get-BootId
    if ($Run.Checking) { $Run.RebootAsked = $true }
    elseif ((Update-Memory)['reboot_asked'] -ne $boot) { [void](Update-Memory @{ reboot_asked = $boot }) }
}

# .SYNOPSIS
# Whether no step asked for a restart since this boot.
function Test-RebootStep {
    [CmdletBinding()]
    param($Run, $Step)
    $asked = (Update-Memory)['reboot_asked']
    -not $Run.RebootAsked -and ($null -eq $asked -or $asked -ne (Get-BootId))
}

# .SYNOPSIS
# Counts, and ends the run: the machine restarts once its result is written.
function Set-RebootStep {
    [CmdletBinding()]
    param($Run, $Step)
    $count = 1 + [int] (Update-Memory)['reboots']
    if ($count -gt $Reboots) { throw (New-Failure 'reboot-limit' "$Reboots restarts in a row did not finish the plan") }
    [void](Update-Memory @{ reboots = $count })
    throw (New-Failure 'reboot' 'the machine is going down')
}
