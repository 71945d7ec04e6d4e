# Folders, files, secrets in files, links, and who may do what with them.

$System, $Administrators, $Users = 'S-1-5-18', 'S-1-5-32-544', 'S-1-5-32-545'

# Who may do what, by access: folders of C:\ would otherwise inherit that every user may add files.
$Access = @{
    private = @{ $System = 'FullControl'; $Administrators = 'FullControl' }
    public  = @{ $System = 'FullControl'; $Administrators = 'FullControl'; $Users = 'ReadAndExecute, Synchronize' }
}
$Writes = 'Modify, Synchronize'

# .SYNOPSIS
# The rights that a step wants, by SID.
function Get-WantedAccess {
    [CmdletBinding()]
    param($Step)
    $wanted = $Access[$(if ($Step['access']) { $Step['access'] } else { 'public' })].Clone()
    foreach ($sid in $Step['readers']) { $wanted[$sid] = $Access.public[$Users] }
    foreach ($sid in $Step['writers']) { $wanted[$sid] = $Writes }
    $wanted
}

# .SYNOPSIS
# Whether the path has these rights and no others, none of them inherited.
function Test-Access {
    [CmdletBinding()]
    param([string] $Path, [hashtable] $Wanted)
    $acl = Get-Acl -LiteralPath $Path
    if (-not $acl.AreAccessRulesProtected) { return $false }
    $fit = 0
    foreach ($rule in $acl.GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier])) {
        $right = $Wanted[$rule.IdentityReference.Value]
        if ("$($rule.AccessControlType)" -ne 'Allow' -or $rule.FileSystemRights.ToString() -ne $right) { return $false }
        $fit++
    }
    $fit -eq $Wanted.Count
}

# .SYNOPSIS
# Gives the path these rights and no others.
function Set-Access {
    [CmdletBinding()]
    param([string] $Path, [hashtable] $Wanted)
    $folder = [IO.Directory]::Exists($Path)
    $acl = New-Object "Security.AccessControl.$(if ($folder) { 'Directory' } else { 'File' })Security"
    $acl.SetAccessRuleProtection($true, $false)
    $inherit = if ($folder) { 'ContainerInherit, ObjectInherit' } else { 'None' }
    foreach ($sid in $Wanted.Keys) {
        $who = [Security.Principal.SecurityIdentifier]::new($sid)
        $rule = [Security.AccessControl.FileSystemAccessRule]::new($who, $Wanted[$sid], $inherit, 'None', 'Allow')
        $acl.AddAccessRule($rule)
    }
    Set-Acl -LiteralPath $Path -AclObject $acl
}

# .SYNOPSIS
# Whether the directory is there with its rights.
function Test-DirectoryStep {
    [CmdletBinding()]
    param($Run, $Step)
    [IO.Directory]::Exists($Step['path']) -and (Test-Access $Step['path'] (Get-WantedAccess $Step)) -and
    -not (Get-OtherFile $Step)
}

# .SYNOPSIS
# Files of a directory that do not belong there: an older CNI file would win by its name (NET-02).
function Get-OtherFile {
    [CmdletBinding()]
    param($Step)
    if (-not $Step['only']) { return }
    [IO.Directory]::GetFiles($Step['path']) | Where-Object { [IO.Path]::GetFileName($_) -notin $Step['only'] }
}

# .SYNOPSIS
# Makes the directory with those above it.
function Set-DirectoryStep {
    [CmdletBinding()]
    param($Run, $Step)
    [void][IO.Directory]::CreateDirectory($Step['path'])
    Set-Access $Step['path'] (Get-WantedAccess $Step)
    Get-OtherFile $Step | ForEach-Object { [IO.File]::Delete($_) }
}

# .SYNOPSIS
# Whether the rights of what something else made are as wanted.
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
# Sets the rights.
function Set-AccessStep {
    [CmdletBinding()]
    param($Run, $Step)
    Set-Access $Step['path'] (Get-WantedAccess $Step)
}

# .SYNOPSIS
# Whether the file holds exactly these bytes and has these rights.
function Test-Content {
    [CmdletBinding()]
    param([string] $Path, [byte[]] $Bytes, [hashtable] $Wanted)
    if (-not [IO.File]::Exists($Path)) { return $false }
    $found = [IO.File]::ReadAllBytes($Path)
    $found.Length -eq $Bytes.Length -and (Get-Sha256 $found) -eq (Get-Sha256 $Bytes) -and (Test-Access $Path $Wanted)
}

# .SYNOPSIS
# Writes the file beside its place, closed before it has its content, and puts it there.
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
        # What replaces a file takes that file's rights over.
        if ([IO.File]::Exists($Path)) { Set-Access $Path $Wanted }
        Move-IntoPlace $new $Path
    }
    catch { [IO.File]::Delete($new); throw }
    if (-not (Test-Access $Path $Wanted)) { Set-Access $Path $Wanted }
}

# .SYNOPSIS
# The bytes that a file step wants.
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
# Whether the file has its content and rights.
function Test-FileStep {
    [CmdletBinding()]
    param($Run, $Step)
    Test-Content $Step['path'] (Get-FileStepContent $Step) (Get-WantedAccess $Step)
}

# .SYNOPSIS
# Writes the file.
function Set-FileStep {
    [CmdletBinding()]
    param($Run, $Step)
    Write-Content $Step['path'] (Get-FileStepContent $Step) (Get-WantedAccess $Step)
}

# .SYNOPSIS
# Whether the file holds the secret as the store has it now, closed to users.
function Test-SecretStep {
    [CmdletBinding()]
    param($Run, $Step)
    $bytes = $Utf8.GetBytes((Get-Secret $Run $Step['secret'] $Step['member']))
    Test-Content $Step['path'] $bytes $Access.private
}

# .SYNOPSIS
# Writes the secret to the file.
function Set-SecretStep {
    [CmdletBinding()]
    param($Run, $Step)
    Write-Content $Step['path'] $Utf8.GetBytes((Get-Secret $Run $Step['secret'] $Step['member'])) $Access.private
}

# .SYNOPSIS
# The target of the link at a path; $null when nothing is there.
function Get-LinkTarget {
    [CmdletBinding()]
    param([string] $Path)
    $found = Get-Item -LiteralPath $Path -Force -ErrorAction Ignore
    if (-not $found) { return }
    if ($found.LinkType -ne 'SymbolicLink') { throw (New-Failure 'file-failed' "$Path is there, and no link") }
    @($found.Target)[0]
}

# .SYNOPSIS
# Whether the link leads to the target.
function Test-LinkStep {
    [CmdletBinding()]
    param($Run, $Step)
    (Get-LinkTarget $Step['path']) -eq $Step['target']
}

# .SYNOPSIS
# Makes the link; an older one is removed first.
function Set-LinkStep {
    [CmdletBinding()]
    param($Run, $Step)
    $path, $target = $Step['path'], $Step['target']
    if (-not [IO.File]::Exists($target) -and -not [IO.Directory]::Exists($target)) {
        throw (New-Failure 'file-failed' "$target is not there; Windows must know whether it is a folder")
    }
    if (Get-LinkTarget $path) {
        # Removes the link alone, whatever it leads to.
        if ([IO.File]::GetAttributes($path) -band [IO.FileAttributes]::Directory) { [IO.Directory]::Delete($path) }
        else { [IO.File]::Delete($path) }
    }
    [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($path))
    [void](New-Item -ItemType SymbolicLink -Path $path -Target $target)
}
