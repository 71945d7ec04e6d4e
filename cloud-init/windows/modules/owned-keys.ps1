# Registry keys that belong to Windows' installer, which gives no other account write access.

$TakeOwnership, $Restore = 9, 18    # SE_TAKE_OWNERSHIP_PRIVILEGE, SE_RESTORE_PRIVILEGE (winnt.h)

# .SYNOPSIS
# Turn on privileges that this process has. Windows keeps them off until a process asks.
function Enable-Privilege {
    [CmdletBinding()]
    param([int[]] $Numbers)
    $takes = [int], [byte], [byte], [byte].MakeByRefType()
    $native = New-NativeType 'Mullion.Privileges' 'ntdll.dll' @{ RtlAdjustPrivilege = [int], $takes }
    foreach ($number in $Numbers) {
        $before = [byte] 0
        $status = $native::RtlAdjustPrivilege($number, 1, 0, [ref] $before)
        if ($status) { throw (New-Failure 'not-privileged' ('privilege {0}: {1:x8}' -f $number, $status)) }
    }
}

# .SYNOPSIS
# Return the path of the key, or of the nearest key above it that exists, without the hive.
function Get-ExistingKey {
    [CmdletBinding()]
    param([string] $Key)
    for ($path = $Key.Substring($Machine.Length + 1); $path; $path = $path -replace '(^|\\)[^\\]+$') {
        $open = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($path)
        if ($open) { $open.Dispose(); return $path }
    }
}

# .SYNOPSIS
# Run the script with the security of a key, opened with these rights, and write it back. Change returns nothing.
function Edit-KeySecurity {
    [CmdletBinding()]
    param([string] $Path, [string] $Section, [string] $Rights, [scriptblock] $Change)
    $check = 'ReadWriteSubTree'
    $key = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($Path, $check, "ReadPermissions, $Rights")
    try {
        $security = $key.GetAccessControl($Section)
        [void] (& $Change $security)
        $key.SetAccessControl($security)
    }
    finally { $key.Dispose() }
}

# .SYNOPSIS
# Make this account the owner of a key, or the account with the SID; return the SID of the owner before.
function Switch-KeyOwner {
    [CmdletBinding()]
    param([string] $Path, [Security.Principal.SecurityIdentifier] $Owner)
    $before = @{}
    Edit-KeySecurity $Path 'Owner' 'TakeOwnership' {
        param($security)
        $before.Owner = $security.GetOwner([Security.Principal.SecurityIdentifier])
        $security.SetOwner($Owner)
    }
    $before.Owner
}

# .SYNOPSIS
# Write the rights to a key back: the security descriptor as bytes.
function Restore-KeyAccess {
    [CmdletBinding()]
    param([string] $Path, [byte[]] $Access)
    Edit-KeySecurity $Path 'Access' 'ChangePermissions' {
        param($security)
        $security.SetSecurityDescriptorBinaryForm($Access, 'Access')
    }
}

# .SYNOPSIS
# Write the value. If Windows refuses: take the ownership of the nearest existing key, allow this account to write,
# write, and write the rights and the owner from before back, after an error too: a rule that is taken away again would
# take rights with it that the account had before. If the machine stops in between, SYSTEM keeps a right that it could
# take at any time.
function Set-OwnedRegistryValue {
    [CmdletBinding()]
    param([string] $Key, [string] $Name, [string] $Kind, $Data)
    try { return Set-RegistryValue $Key $Name $Kind $Data }
    catch [UnauthorizedAccessException], [Security.SecurityException] { [void] 'only its owner may' }
    $path, $me = (Get-ExistingKey $Key), [Security.Principal.WindowsIdentity]::GetCurrent().User
    $rule = [Security.AccessControl.RegistryAccessRule]::new($me, 'FullControl', 'ContainerInherit', 'None', 'Allow')
    Enable-Privilege $TakeOwnership, $Restore
    $owner, $before = (Switch-KeyOwner $path $me), @{}
    try {
        Edit-KeySecurity $path 'Access' 'ChangePermissions' {
            param($security)
            $before.Access = $security.GetSecurityDescriptorBinaryForm()
            $security.AddAccessRule($rule)
        }
        Set-RegistryValue $Key $Name $Kind $Data
    }
    finally {
        try { if ($before.Access) { Restore-KeyAccess $path $before.Access } }
        finally { [void] (Switch-KeyOwner $path $owner) }
    }
}
