# Archives: zip, tar and tar.gz. All entries are checked before any is unpacked.

# Reserved device names, with any extension ("Naming Files, Paths, and Namespaces").
$Devices = '^(con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$)$'
$Invalid = '[\x00-\x1f\\:<>"|?*]'

# .SYNOPSIS
# Return the archive's digest and the step's options, which the listing must match.
function Get-ArchiveKey {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $source = $Step['source']
    if (-not [IO.File]::Exists($source)) { throw (New-Failure 'file-failed' "$source is not there") }
    $how = $Step['target'], [int] $Step['strip'], (@($Step['members']) -join '|')
    (Get-KnownDigest $Run $source 'sha256:'), ($how -join ' ') -join ' '
}

# .SYNOPSIS
# Return whether the listing of the last unpacking matches the archive and each file has its size.
function Test-ArchiveStep {
    [CmdletBinding()]
    param($Run, $Step)
    $place = "$State\archives\$($Step['name']).json"
    $key = Get-ArchiveKey $Run $Step
    if (-not [IO.File]::Exists($place)) { return $false }
    $listing = Read-Json $place
    if ($listing['key'] -ne $key) { return $false }
    foreach ($name in $listing['files'].Keys) {
        $file = [IO.FileInfo]::new("$($Step['target'])\$name")
        if (-not $file.Exists -or $file.Length -ne $listing['files'][$name]) { return $false }
    }
    $true
}

# .SYNOPSIS
# Check all entries, then write each file, then the listing.
function Set-ArchiveStep {
    [CmdletBinding()]
    param($Run, $Step)
    $unpacking = @{
        Source = $Step['source']; Target = [IO.Path]::GetFullPath($Step['target']); Strip = [int] $Step['strip']
        Members = @($Step['members'] | Where-Object { $_ }); Files = [ordered] @{}; Seen = @{}; Writing = $false
    }
    $key = Get-ArchiveKey $Run $Step
    try {
        Read-Archive $unpacking
        $missing = @($unpacking.Members | Where-Object { -not $unpacking.Seen.ContainsKey($_) })
        if ($missing -or -not $unpacking.Seen.Count) {
            $what = if ($missing) { $missing -join ', ' } else { 'files' }
            throw (New-Failure 'archive-broken' "$($Step['source']) has no $what")
        }
        Stop-Replaced $Run $unpacking
        $unpacking.Writing = $true
        Read-Archive $unpacking
    }
    catch [IO.InvalidDataException], [IO.EndOfStreamException] {
        throw (New-Failure 'archive-broken' "$($Step['source']): $($_.Exception.Message)")
    }
    $listing = ConvertTo-JsonText @{ key = $key; files = $unpacking.Files }
    Set-WholeFile "$State\archives\$($Step['name']).json" $Utf8.GetBytes($listing)
}

# .SYNOPSIS
# Stop running services whose program the archive replaces; later steps of the plan start them. Windows removes no file
# of a running program, and an image of another version has services that Windows starts before the executor runs.
function Stop-Replaced {
    [CmdletBinding()]
    param([hashtable] $Run, [hashtable] $Unpacking)
    foreach ($service in [ServiceProcess.ServiceController]::GetServices()) {
        $name = $service.ServiceName
        $service.Dispose()
        $key = "$ServiceRoot\$name"
        # nssm's value names the program that it runs; security software makes keys of its services unreadable
        try { $lines = (Get-RegistryValue $key 'ImagePath'), (Get-RegistryValue "$key\Parameters" 'Application') }
        catch [Security.SecurityException], [UnauthorizedAccessException] { continue }
        foreach ($line in $lines) {
            if ("$line" -notmatch '^"?([^"]+?\.exe)') { continue }
            $program = $Matches[1]
            if (-not $program.StartsWith("$($Unpacking.Target)\", 'OrdinalIgnoreCase')) { continue }
            $inner = $program.Substring($Unpacking.Target.Length + 1).Replace('\', '/')
            if (-not $Unpacking.Seen.ContainsKey($inner) -or (Get-ServiceState $name) -in '', 'Stopped') { continue }
            Write-Said $Run "the service $name is stopped: its program is replaced"
            Stop-PlannedService $Run $name
        }
    }
}

# .SYNOPSIS
# Read the archive once; its first bytes give the format.
function Read-Archive {
    [CmdletBinding()]
    param([hashtable] $Unpacking)
    $file = [IO.File]::OpenRead($Unpacking.Source)
    try {
        $magic = '{0:x2}{1:x2}' -f $file.ReadByte(), $file.ReadByte()
        $file.Position = 0
        if ($magic -eq '504b') { Read-Zip $Unpacking $file }
        elseif ($magic -eq '1f8b') {
            $plain = [IO.Compression.GZipStream]::new($file, [IO.Compression.CompressionMode]::Decompress)
            try { Read-Tar $Unpacking $plain } finally { $plain.Dispose() }
        }
        else { Read-Tar $Unpacking $file }
    }
    finally { $file.Dispose() }
}

# .SYNOPSIS
# Return an entry's path below the target, or $null if it is not selected. Throw archive-unsafe for a name that Windows
# could resolve to another path.
function Get-EntryPath {
    [CmdletBinding()]
    param([hashtable] $Unpacking, [string] $Name)
    $parts = @($Name.Split('/') | Where-Object { $_ -ne '' -and $_ -ne '.' })
    $odd = @($parts | Where-Object { $_.Split('.')[0].Trim() -match $Devices -or $_ -match '[. ]$' })
    if ($Name.StartsWith('/') -or $Name -match $Invalid -or $odd) {
        throw (New-Failure 'archive-unsafe' "$($Unpacking.Source) has an entry '$Name'")
    }
    if ($Name.EndsWith('/') -or $parts.Count -le $Unpacking.Strip) { return }
    $inner = $parts[$Unpacking.Strip..($parts.Count - 1)] -join '/'
    $plain = $parts -join '/'
    $names = $Name, $plain, $inner
    if ($Unpacking.Members -and -not @($names | Where-Object { $Unpacking.Members -ccontains $_ })) { return }
    foreach ($each in $names) { $Unpacking.Seen[$each] = $true }
    $inner
}

# .SYNOPSIS
# Copy Length bytes of a stream to a file, atomically.
function Save-Entry {
    [CmdletBinding()]
    param([hashtable] $Unpacking, [string] $Inner, [IO.Stream] $From, [long] $Length)
    $path = "$($Unpacking.Target)\$($Inner.Replace('/', '\'))"
    [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($path))
    try {
        $to = [IO.File]::Create("$path.part")
        try { Copy-Stream $From $to $Length; $to.Flush($true) } finally { $to.Dispose() }
        Move-IntoPlace "$path.part" $path
    }
    catch { [IO.File]::Delete("$path.part"); throw }
    $Unpacking.Files[$Inner] = $Length
}

# .SYNOPSIS
# Copy Length bytes of a stream; without a target stream, skip them.
function Copy-Stream {
    [CmdletBinding()]
    param([IO.Stream] $From, [IO.Stream] $To, [long] $Length)
    $buffer = [byte[]]::new([Math]::Max(1, [Math]::Min($Chunk, $Length)))
    while ($Length -gt 0) {
        $count = $From.Read($buffer, 0, [int] [Math]::Min($buffer.Length, $Length))
        if ($count -eq 0) { throw [IO.EndOfStreamException]::new('it ends too early') }
        if ($To) { $To.Write($buffer, 0, $count) }
        $Length -= $count
    }
}

# .SYNOPSIS
# Check or unpack the entries of a zip.
function Read-Zip {
    [CmdletBinding()]
    param([hashtable] $Unpacking, [IO.Stream] $File)
    Add-Type -AssemblyName System.IO.Compression
    $zip = [IO.Compression.ZipArchive]::new($File)
    foreach ($entry in $zip.Entries) {
        # .NET Framework before 4.7.2 lacks ExternalAttributes; there a link is a small file with its target's name.
        $bits = $entry.PSObject.Properties['ExternalAttributes']
        if ($bits -and (($bits.Value -shr 16) -band 0xF000) -notin 0, 0x4000, 0x8000) {
            throw (New-Failure 'archive-unsafe' "$($Unpacking.Source): '$($entry.FullName)' is neither file nor folder")
        }
        $inner = Get-EntryPath $Unpacking $entry.FullName
        if (-not $inner -or -not $Unpacking.Writing) { continue }
        $from = $entry.Open()
        try { Save-Entry $Unpacking $inner $from $entry.Length } finally { $from.Dispose() }
    }
}
