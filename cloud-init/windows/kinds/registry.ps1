# Values of the registry.

$Machine = 'HKEY_LOCAL_MACHINE'
$Guid = '\A\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}\z'

# .SYNOPSIS
# Return a value, or $null if it does not exist.
function Get-RegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name)
    , [Microsoft.Win32.Registry]::GetValue($Key, $Name, $null)
}

# .SYNOPSIS
# Return the data as .NET reads and writes it.
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
# Return whether the value has the kind and data; for an empty list, whether it does not exist. %variables% are compared
# unexpanded, and GUIDs without case: Windows registers its own classes in either.
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
        $now, $wanted = ($found -join "`n"), ((ConvertTo-RegistryData $Kind $Data) -join "`n")
        if ($wanted -match $Guid) { $now -eq $wanted } else { $now -ceq $wanted }
    }
    finally { $open.Dispose() }
}

# .SYNOPSIS
# Write the value; an empty list deletes it.
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
# Return the step's key with the full name of the hive.
function Get-RegistryKey {
    [CmdletBinding()]
    param($Step)
    if ($Step['key'] -notmatch '^(HKLM:?|HKEY_LOCAL_MACHINE)\\(.+)$') {
        throw (New-Failure 'step-invalid' "$($Step['key']) is not below HKLM")
    }
    "$Machine\$($Matches[2])"
}

# .SYNOPSIS
# Return whether the value is as planned.
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
    if ($Step['bits'] -and $type -ne 'DWord') { throw (New-Failure 'step-invalid' "type $type has no bits") }
    Test-RegistryValue (Get-RegistryKey $Step) $Step['value'] $type (Get-RegistryStepData $Step)
}

# .SYNOPSIS
# Return the step's data; with `bits`, together with the bits that the value has now.
function Get-RegistryStepData {
    [CmdletBinding()]
    param($Step)
    if (-not $Step['bits']) { return , $Step['data'] }
    $now = Get-RegistryValue (Get-RegistryKey $Step) $Step['value']
    $bits = if ($now -is [int]) { [BitConverter]::ToUInt32([BitConverter]::GetBytes($now), 0) } else { 0 }
    [long] ($bits -bor [uint32] $Step['data'])
}

# .SYNOPSIS
# Write the value; with restart, request one first, because Windows reads the value only at its start.
function Set-RegistryStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ($Step['restart']) { Request-Reboot $Run }
    $words = (Get-RegistryKey $Step), $Step['value'], $Step['type'], (Get-RegistryStepData $Step)
    if ($Step['owned']) { Set-OwnedRegistryValue @words } else { Set-RegistryValue @words }
}
