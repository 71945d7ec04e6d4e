# Folders, files, secrets in files, links, and their access rules.

$System, $Administrators, $Users = 'S-1-5-18', 'S-1-5-32-544', 'S-1-5-32-545'

# Rights by SID, by access. Without them folders in C:\ inherit that every user may add files.
$Access = @{
    private = @{ $System = 'FullControl'; $Administrators = 'FullControl' }
    public  = @{ $System = 'FullControl'; $Administrators = 'FullControl'; $Users = 'ReadAndExecute, Synchronize' }
}
$Writes = 'Modify, Synchronize'
$Inherited = 'ContainerInherit, ObjectInherit'

# SIDs of groups that every user or process may be in: Everyone, Local, Creator Owner, Network, Interactive, Anonymous,
# Authenticated Users, This Organization, Users, Guests, all app packages ("Well-known SIDs", learn.microsoft.com). They
# have the planned rights and no more.
$Anyone = @('S-1-1-0', 'S-1-2-0', 'S-1-3-0', 'S-1-5-2', 'S-1-5-4', 'S-1-5-7', 'S-1-5-11', 'S-1-5-15', $Users,
    'S-1-5-32-546', 'S-1-15-2-1', 'S-1-15-2-2')

# .SYNOPSIS
# Return the rights of a step by SID.
function Get-WantedAccess {
    [CmdletBinding()]
    param($Step)
    $wanted = $Access[$(if ($Step['access']) { $Step['access'] } else { 'public' })].Clone()
    foreach ($sid in $Step['readers']) { $wanted[$sid] = $Access.public[$Users] }
    foreach ($sid in $Step['writers']) { $wanted[$sid] = $Writes }
    $wanted
}

# .SYNOPSIS
# Return whether the path has these rights, none of them inherited. Accounts outside $Anyone may have further rights:
# CSI drivers and administrators grant some to a service.
function Test-Access {
    [CmdletBinding()]
    param([string] $Path, [hashtable] $Wanted)
    $acl = Get-Acl -LiteralPath $Path
    if (-not $acl.AreAccessRulesProtected) { return $false }
    $itself, $below = @{}, @{}
    foreach ($rule in $acl.GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier])) {
        $sid, $rights = $rule.IdentityReference.Value, [int] $rule.FileSystemRights
        if ($sid -notin $Anyone -and -not $Wanted.ContainsKey($sid)) { continue }
        if ("$($rule.AccessControlType)" -ne 'Allow') { return $false }
        # One account may have several rules; its rights are their union.
        if ("$($rule.PropagationFlags)" -ne 'InheritOnly') { $itself[$sid] = [int] $itself[$sid] -bor $rights }
        if ("$($rule.InheritanceFlags)" -eq $Inherited) { $below[$sid] = [int] $below[$sid] -bor $rights }
    }
    $places = if ([IO.Directory]::Exists($Path)) { $itself, $below } else { , $itself }
    foreach ($rights in $places) {
        foreach ($sid in @($rights.Keys) + @($Wanted.Keys)) {
            $planned = if ($Wanted[$sid]) { [int] [Security.AccessControl.FileSystemRights] $Wanted[$sid] } else { 0 }
            if ($planned -band -bnot [int] $rights[$sid]) { return $false }
            if ($sid -in $Anyone -and [int] $rights[$sid] -band -bnot $planned) { return $false }
        }
    }
    $true
}

# .SYNOPSIS
# Set these rights on the path, without inheritance. Rights of accounts outside $Anyone stay.
function Set-Access {
    [CmdletBinding()]
    param([string] $Path, [hashtable] $Wanted)
    $folder = [IO.Directory]::Exists($Path)
    $acl = if ($folder) { [Security.AccessControl.DirectorySecurity]::new() }
    else { [Security.AccessControl.FileSecurity]::new() }
    $acl.SetAccessRuleProtection($true, $false)
    $before = (Get-Acl -LiteralPath $Path).GetAccessRules($true, $false, [Security.Principal.SecurityIdentifier])
    foreach ($rule in $before) {
        $sid = $rule.IdentityReference.Value
        if ($sid -notin $Anyone -and -not $Wanted.ContainsKey($sid)) { $acl.AddAccessRule($rule) }
    }
    $inherit = if ($folder) { $Inherited } else { 'None' }
    foreach ($sid in $Wanted.Keys) {
        $who = [Security.Principal.SecurityIdentifier]::new($sid)
        $rule = [Security.AccessControl.FileSystemAccessRule]::new($who, $Wanted[$sid], $inherit, 'None', 'Allow')
        $acl.AddAccessRule($rule)
    }
    Set-Acl -LiteralPath $Path -AclObject $acl
}

# .SYNOPSIS
# Return whether the directory exists with its rights and without other files than `only`.
function Test-DirectoryStep {
    [CmdletBinding()]
    param($Run, $Step)
    [IO.Directory]::Exists($Step['path']) -and (Test-Access $Step['path'] (Get-WantedAccess $Step)) -and
    -not (Get-OtherFile $Step)
}

# .SYNOPSIS
# Return files of a directory that `only` does not name: an older CNI file could sort first and be used (NET-02).
function Get-OtherFile {
    [CmdletBinding()]
    param($Step)
    if (-not $Step['only']) { return }
    [IO.Directory]::GetFiles($Step['path']) | Where-Object { [IO.Path]::GetFileName($_) -notin $Step['only'] }
}

# .SYNOPSIS
# Create the directory and its parents, set its rights and delete other files than `only`.
function Set-DirectoryStep {
    [CmdletBinding()]
    param($Run, $Step)
    [void][IO.Directory]::CreateDirectory($Step['path'])
    Set-Access $Step['path'] (Get-WantedAccess $Step)
    Get-OtherFile $Step | ForEach-Object { [IO.File]::Delete($_) }
}

# .SYNOPSIS
# Return whether an existing file or directory has the planned rights.
function Test-AccessStep {
    [CmdletBinding()]
    param($Run, $Step)
    $path = $Step['path']
    if (-not [IO.File]::Exists($path) -and -not [IO.Directory]::Exists($path)) {
        throw (New-Failure 'file-failed' "$path is not there")
    }
    Test-Access $path (Get-WantedAccess $Step)
}

# .SYNOPSIS
# Set the rights.
function Set-AccessStep {
    [CmdletBinding()]
    param($Run, $Step)
    Set-Access $Step['path'] (Get-WantedAccess $Step)
}

# .SYNOPSIS
# Return whether the file has exactly these bytes and rights.
function Test-Content {
    [CmdletBinding()]
    param([string] $Path, [byte[]] $Bytes, [hashtable] $Wanted)
    if (-not [IO.File]::Exists($Path)) { return $false }
    $found = [IO.File]::ReadAllBytes($Path)
    $found.Length -eq $Bytes.Length -and (Get-Sha256 $found) -eq (Get-Sha256 $Bytes) -and (Test-Access $Path $Wanted)
}

# .SYNOPSIS
# Write a file beside the path, with its rights set before its content, and rename it.
function Write-Content {
    [CmdletBinding()]
    param([string] $Path, [byte[]] $Bytes, [hashtable] $Wanted)
    [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($Path))
    $new = "$Path.new"
    try {
        [IO.File]::WriteAllBytes($new, [byte[]]::new(0))
        Set-Access $new $Wanted
        $file = [IO.File]::OpenWrite($new)
        try { $file.Write($Bytes, 0, $Bytes.Length); $file.Flush($true) } finally { $file.Dispose() }
        # Replace keeps the rights of the file that it replaces.
        if ([IO.File]::Exists($Path)) { Set-Access $Path $Wanted }
        Move-IntoPlace $new $Path
    }
    catch { [IO.File]::Delete($new); throw }
    if (-not (Test-Access $Path $Wanted)) { Set-Access $Path $Wanted }
}

# .SYNOPSIS
# Return the bytes of a file step.
function Get-FileStepContent {
    [CmdletBinding()]
    param($Step)
    $content = $Step['content']
    if ($Step['format'] -eq 'json') { return , $Utf8.GetBytes((ConvertTo-JsonText $content) + "`n") }
    if ($Step['format'] -eq 'documents' -and $content -is [Collections.IList]) {
        return , $Utf8.GetBytes(@($content | ForEach-Object { "---`n$(ConvertTo-JsonText $_)`n" }) -join '')
    }
    if ($content -isnot [string]) {
        throw (New-Failure 'step-invalid' 'content is neither text nor of format json or documents')
    }
    , $Utf8.GetBytes($content)
}

# .SYNOPSIS
# Return whether the file has its content and rights.
function Test-FileStep {
    [CmdletBinding()]
    param($Run, $Step)
    Test-Content $Step['path'] (Get-FileStepContent $Step) (Get-WantedAccess $Step)
}

# .SYNOPSIS
# Write the file.
function Set-FileStep {
    [CmdletBinding()]
    param($Run, $Step)
    Write-Content $Step['path'] (Get-FileStepContent $Step) (Get-WantedAccess $Step)
}

# .SYNOPSIS
# Return whether the private file has the secret's current value.
function Test-SecretStep {
    [CmdletBinding()]
    param($Run, $Step)
    $bytes = $Utf8.GetBytes((Get-Secret $Run $Step['secret'] $Step['member']))
    Test-Content $Step['path'] $bytes $Access.private
}

# .SYNOPSIS
# Write the secret to the private file.
function Set-SecretStep {
    [CmdletBinding()]
    param($Run, $Step)
    Write-Content $Step['path'] $Utf8.GetBytes((Get-Secret $Run $Step['secret'] $Step['member'])) $Access.private
}

# .SYNOPSIS
# Return the target of the link at a path, or $null if the path does not exist.
function Get-LinkTarget {
    [CmdletBinding()]
    param([string] $Path)
    $found = Get-Item -LiteralPath $Path -Force -ErrorAction Ignore
    if (-not $found) { return }
    if ($found.LinkType -ne 'SymbolicLink') { throw (New-Failure 'file-failed' "$Path is there, and no link") }
    @($found.Target)[0]
}

# .SYNOPSIS
# Return whether the path is a link to the target.
function Test-LinkStep {
    [CmdletBinding()]
    param($Run, $Step)
    (Get-LinkTarget $Step['path']) -eq $Step['target']
}

# .SYNOPSIS
# Create the link; remove an older link first.
function Set-LinkStep {
    [CmdletBinding()]
    param($Run, $Step)
    $path, $target = $Step['path'], $Step['target']
    if (-not [IO.File]::Exists($target) -and -not [IO.Directory]::Exists($target)) {
        throw (New-Failure 'file-failed' "$target is not there; Windows must know whether it is a folder")
    }
    if (Get-LinkTarget $path) {
        # Delete only the link, not its target.
        if ([IO.File]::GetAttributes($path) -band [IO.FileAttributes]::Directory) { [IO.Directory]::Delete($path) }
        else { [IO.File]::Delete($path) }
    }
    [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($path))
    [void](New-Item -ItemType SymbolicLink -Path $path -Target $target)
}
