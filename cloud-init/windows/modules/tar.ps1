# A reader of tar streams: ustar, and the long names and sizes of GNU and POSIX (pax).

$Block = 512    # bytes of a header, and what file bodies are padded to
$Longest = 64KB    # maximal bytes of an entry with a long name

# .SYNOPSIS
# Return a number of a header: octal digits, or big-endian bytes after 0x80 (GNU, for 8 GiB and more).
function Read-TarNumber {
    [CmdletBinding()]
    param([byte[]] $Header, [int] $Start, [int] $Length)
    if ($Header[$Start] -band 0x80) {
        $number = [long] 0
        foreach ($byte in $Header[($Start + 1)..($Start + $Length - 1)]) { $number = 256 * $number + $byte }
        return $number
    }
    $text = [Text.Encoding]::ASCII.GetString($Header, $Start, $Length).Trim([char] 0, ' ')
    if ($text -notmatch '^[0-7]+$') { throw [IO.InvalidDataException]::new('it is no tar') }
    [Convert]::ToInt64($text, 8)
}

# .SYNOPSIS
# Return a string of a header, up to its first zero byte.
function Read-TarText {
    [CmdletBinding()]
    param([byte[]] $Header, [int] $Start, [int] $Length)
    $Utf8.GetString($Header, $Start, $Length).Split([char] 0)[0]
}

# .SYNOPSIS
# Return one header (Name, Length, Type), or $null at the end.
function Read-TarHeader {
    [CmdletBinding()]
    param([IO.Stream] $Tar)
    $memory = [IO.MemoryStream]::new()
    Copy-Stream $Tar $memory $Block
    $bytes = $memory.ToArray()
    if ($bytes[0] -eq 0) { return }
    $sum = 8 * 32    # the checksum's own field counts as spaces
    for ($place = 0; $place -lt $Block; $place++) { if ($place -lt 148 -or $place -ge 156) { $sum += $bytes[$place] } }
    if ($sum -ne (Read-TarNumber $bytes 148 8)) { throw [IO.InvalidDataException]::new('a header is not whole') }
    # The prefix is POSIX; GNU's own format uses that field for something else.
    $posix = (Read-TarText $bytes 257 6) -eq 'ustar' -and $bytes[262] -eq 0
    $prefix = if ($posix) { Read-TarText $bytes 345 155 }
    $name = Read-TarText $bytes 0 100
    @{
        Name = if ($prefix) { "$prefix/$name" } else { $name }
        Length = Read-TarNumber $bytes 124 12
        Type = [string] [char] $bytes[156]
    }
}

# .SYNOPSIS
# Return Name and Length for the next entry from a GNU (L) or POSIX (x) extension entry.
function Read-TarExtension {
    [CmdletBinding()]
    param([IO.Stream] $Tar, [hashtable] $Header)
    if ($Header.Length -gt $Longest) { throw [IO.InvalidDataException]::new('it has a name that is too long') }
    $memory = [IO.MemoryStream]::new()
    Copy-Stream $Tar $memory $Header.Length
    $bytes = $memory.ToArray()
    $found = @{ Name = $null; Length = $null }
    if ($Header.Type -eq 'L') { $found.Name = Read-TarText $bytes 0 $bytes.Length; return $found }
    # Records "<length> <key>=<value>\n": the length is in bytes and counts itself.
    for ($place = 0; $place -lt $bytes.Length; $place += $length) {
        $space = [Array]::IndexOf($bytes, [byte] 32, $place)
        $length = if ($space -gt 0) { [int] $Utf8.GetString($bytes, $place, $space - $place) } else { 0 }
        $fits = $length -gt 0 -and $place + $length -le $bytes.Length
        if (-not $fits) { throw [IO.InvalidDataException]::new('it is no tar') }
        $key, $value = $Utf8.GetString($bytes, $space + 1, $place + $length - $space - 2).Split('=', 2)
        if ($key -eq 'path') { $found.Name = $value }
        if ($key -eq 'size') { $found.Length = [long] $value }
    }
    $found
}

# .SYNOPSIS
# Check or unpack the entries of a tar.
function Read-Tar {
    [CmdletBinding()]
    param([hashtable] $Unpacking, [IO.Stream] $Tar)
    $next = @{ Name = $null; Length = $null }
    while ($header = Read-TarHeader $Tar) {
        if ($header.Type -in 'L', 'x') {
            $padding = ($Block - $header.Length % $Block) % $Block
            $told = Read-TarExtension $Tar $header
            foreach ($key in 'Name', 'Length') { if ($null -ne $told[$key]) { $next[$key] = $told[$key] } }
            Copy-Stream $Tar $null $padding
            continue
        }
        if ($header.Type -ne 'g') {
            foreach ($key in 'Name', 'Length') { if ($null -ne $next[$key]) { $header[$key] = $next[$key] } }
            $next = @{ Name = $null; Length = $null }
        }
        Read-TarEntry $Unpacking $Tar $header
    }
}

# .SYNOPSIS
# Check or unpack one entry, and skip its padding.
function Read-TarEntry {
    [CmdletBinding()]
    param([hashtable] $Unpacking, [IO.Stream] $Tar, [hashtable] $Header)
    $padding = ($Block - $Header.Length % $Block) % $Block
    if ($Header.Type -in '0', [string] [char] 0, '7') {
        $inner = Get-EntryPath $Unpacking $Header.Name
        if ($inner -and $Unpacking.Writing) { Save-Entry $Unpacking $inner $Tar $Header.Length }
        else { Copy-Stream $Tar $null $Header.Length }
    }
    elseif ($Header.Type -eq '5') { [void](Get-EntryPath $Unpacking ($Header.Name.TrimEnd('/') + '/')) }
    elseif ($Header.Type -eq 'g') { Copy-Stream $Tar $null $Header.Length }
    else { throw (New-Failure 'archive-unsafe' "$($Unpacking.Source): '$($Header.Name)' is neither file nor folder") }
    Copy-Stream $Tar $null $padding
}
