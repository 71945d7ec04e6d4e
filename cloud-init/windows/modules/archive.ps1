# Archives (zip, tar, tar.gz): read with .NET alone; entries that are links or leave the target are refused.

$Block = 512    # bytes of a tar header, and what file bodies are padded to
$Chunk = 1MB

# What makes an unpacked archive the wanted one: its own digest, and how it is unpacked.
function Get-ArchiveKey {
    [CmdletBinding()]
    param($Step)
    $source = $Step['source']
    if (-not [IO.File]::Exists($source)) { throw (New-Failure 'file-failed' "$source is not there") }
    $how = $Step['target'], [int] $Step['strip'], (@($Step['members']) -join '|')
    (Get-FileDigest $source 'sha256:'), ($how -join ' ') -join ' '
}

# The listing of the last unpacking fits the archive, and each file has its size.
function Test-ArchiveStep {
    [CmdletBinding()]
    param($Run, $Step)
    $place = "$State\archives\$($Step['name']).json"
    if (-not [IO.File]::Exists($place)) { return $false }
    $listing = Read-Json $place
    if ($listing['key'] -ne (Get-ArchiveKey $Step)) { return $false }
    foreach ($name in $listing['files'].Keys) {
        $file = New-Object IO.FileInfo "$($Step['target'])\$name"
        if (-not $file.Exists -or $file.Length -ne $listing['files'][$name]) { return $false }
    }
    $true
}

# Writes each file, then the listing. `members` names files as in the archive or as they end up.
function Set-ArchiveStep {
    [CmdletBinding()]
    param($Run, $Step)
    $unpacking = @{
        Source = $Step['source']; Files = @{}; Seen = @{}
        Target = [IO.Path]::GetFullPath($Step['target']); Strip = [int] $Step['strip']
        Members = @($Step['members'] | Where-Object { $_ })
    }
    $key = Get-ArchiveKey $Step
    try {
        if ($Step['source'].EndsWith('.zip')) { Expand-Zip $unpacking } else { Expand-Tar $unpacking }
    }
    catch [IO.InvalidDataException], [IO.EndOfStreamException] {
        throw (New-Failure 'archive-broken' "$($Step['source']): $($_.Exception.Message)")
    }
    $missing = @($unpacking.Members | Where-Object { -not $unpacking.Seen.ContainsKey($_) })
    if ($missing -or -not $unpacking.Files.Count) {
        throw (New-Failure 'archive-broken' "$($Step['source']) has no $(if ($missing) { $missing } else { 'files' })")
    }
    $listing = ConvertTo-JsonText @{ key = $key; files = $unpacking.Files }
    Set-WholeFile "$State\archives\$($Step['name']).json" $Utf8.GetBytes($listing)
}

# Where an entry goes: a full path, or $null when it is not wanted.
function Get-EntryPath {
    [CmdletBinding()]
    param([hashtable] $Unpacking, [string] $Name)
    $parts = @($Name.Split('/') | Where-Object { $_ -ne '' -and $_ -ne '.' })
    if ($Name -match '^/|\\|:' -or $parts -contains '..') {
        throw (New-Failure 'archive-unsafe' "$($Unpacking.Source) has an entry '$Name'")
    }
    if ($parts.Count -le $Unpacking.Strip) { return }
    $inner = $parts[$Unpacking.Strip..($parts.Count - 1)] -join '/'
    $members = $Unpacking.Members
    if ($members -and $members -notcontains $Name -and $members -notcontains $inner) { return }
    $Unpacking.Seen[$Name] = $Unpacking.Seen[$inner] = $true
    $inner
}

# Copies so many bytes of a stream to a file that is there whole or as before.
function Save-Entry {
    [CmdletBinding()]
    param([hashtable] $Unpacking, [string] $Inner, [IO.Stream] $From, [long] $Length)
    $path = "$($Unpacking.Target)\$($Inner.Replace('/', '\'))"
    [void][IO.Directory]::CreateDirectory((Split-Path $path))
    $to = [IO.File]::Create("$path.part")
    try {
        Copy-Stream $From $to $Length
        $to.Flush($true)
    }
    finally { $to.Dispose() }
    if ([IO.File]::Exists($path)) { [IO.File]::Replace("$path.part", $path, [NullString]::Value) }
    else { [IO.File]::Move("$path.part", $path) }
    $Unpacking.Files[$Inner] = $Length
}

# Moves so many bytes on; without a stream to write they are only read over.
function Copy-Stream {
    [CmdletBinding()]
    param([IO.Stream] $From, [IO.Stream] $To, [long] $Length)
    $buffer = New-Object byte[] ([Math]::Max(1, [Math]::Min($Chunk, $Length)))
    while ($Length -gt 0) {
        $count = $From.Read($buffer, 0, [int] [Math]::Min($buffer.Length, $Length))
        if ($count -eq 0) { throw (New-Object IO.EndOfStreamException 'it ends too early') }
        if ($To) { $To.Write($buffer, 0, $count) }
        $Length -= $count
    }
}

function Expand-Zip {
    [CmdletBinding()]
    param([hashtable] $Unpacking)
    Add-Type -AssemblyName System.IO.Compression
    $file = [IO.File]::OpenRead($Unpacking.Source)
    try {
        $zip = New-Object IO.Compression.ZipArchive $file
        foreach ($entry in $zip.Entries) {
            $inner = if (-not $entry.FullName.EndsWith('/')) { Get-EntryPath $Unpacking $entry.FullName }
            if (-not $inner) { continue }
            $from = $entry.Open()
            try { Save-Entry $Unpacking $inner $from $entry.Length } finally { $from.Dispose() }
        }
    }
    finally { $file.Dispose() }
}

# One header of a tar: Name, Length, Type; $null at the end.
function Read-TarHeader {
    [CmdletBinding()]
    param([IO.Stream] $Tar)
    $header = New-Object IO.MemoryStream
    Copy-Stream $Tar $header $Block
    $bytes = $header.ToArray()
    if ($bytes[0] -eq 0) { return }
    $text = [Text.Encoding]::ASCII.GetString($bytes)
    $field = { param($start, $length) $text.Substring($start, $length).Split([char] 0)[0].Trim() }
    $size = & $field 124 12
    if ((& $field 257 5) -ne 'ustar' -or $size -notmatch '^[0-7]+$') {
        throw (New-Object IO.InvalidDataException 'it is no tar')
    }
    # The prefix is POSIX; GNU's own format uses that field for something else.
    $prefix = if ($bytes[262] -eq 0) { & $field 345 155 }
    $name = & $field 0 100
    @{
        Name = if ($prefix) { "$prefix/$name" } else { $name }
        Length = [Convert]::ToInt64($size, 8)
        Type = [string] [char] $bytes[156]
    }
}

# A long name, from the body of a GNU (L) or POSIX (x) entry that comes before the file.
function Read-LongName {
    [CmdletBinding()]
    param([IO.Stream] $Tar, [hashtable] $Header)
    $body = New-Object IO.MemoryStream
    Copy-Stream $Tar $body $Header.Length
    $text = $Utf8.GetString($body.ToArray())
    if ($Header.Type -eq 'L') { return $text.Split([char] 0)[0] }
    if ($text -match '(?m)^\d+ path=(.*)$') { $Matches[1] }
}

function Expand-Tar {
    [CmdletBinding()]
    param([hashtable] $Unpacking)
    $tar = [IO.File]::OpenRead($Unpacking.Source)
    $magic = $tar.ReadByte(), $tar.ReadByte()
    $tar.Position = 0
    if ($magic[0] -eq 0x1f -and $magic[1] -eq 0x8b) {
        $tar = New-Object IO.Compression.GZipStream $tar, ([IO.Compression.CompressionMode]::Decompress)
    }
    try {
        $long = $null
        while ($header = Read-TarHeader $tar) {
            $padding = ($Block - $header.Length % $Block) % $Block
            $name = if ($long) { $long } else { $header.Name }
            if ($header.Type -in 'L', 'x') { $long = Read-LongName $tar $header }
            elseif ($header.Type -in '0', [string] [char] 0) {
                $long = $null
                $inner = Get-EntryPath $Unpacking $name
                if ($inner) { Save-Entry $Unpacking $inner $tar $header.Length }
                else { Copy-Stream $tar $null $header.Length }
            }
            elseif ($header.Type -in '5', 'g') { $long = $null; Copy-Stream $tar $null $header.Length }
            else { throw (New-Failure 'archive-unsafe' "$($Unpacking.Source): '$name' is neither file nor folder") }
            Copy-Stream $tar $null $padding
        }
    }
    finally { $tar.Dispose() }
}
