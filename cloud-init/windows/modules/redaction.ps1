# Redaction of text that leaves the machine, and the archive that holds it.

$ArchiveLimit = 12MB    # of all text in an archive
$SecretPatterns = @()

# .SYNOPSIS
# Return the expressions of redaction.json; the first group of a match stays.
function Get-SecretPattern {
    [CmdletBinding()]
    param()
    if (-not $script:SecretPatterns) {
        $rows = (Read-Json "$PSScriptRoot\..\redaction.json")['patterns']
        $script:SecretPatterns = @($rows | ForEach-Object { [regex]::new($_['pattern']) })
    }
    $script:SecretPatterns
}

# .SYNOPSIS
# Return the text with patterns of secrets and this run's secrets redacted.
function Protect-Text {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Text)
    foreach ($pattern in Get-SecretPattern) { $Text = $pattern.Replace($Text, '$1[secret]') }
    Hide-Secret $Run $Text
}

# .SYNOPSIS
# Return a zip as bytes: one redacted entry for each source, by its Name; Read returns the text of a source.
function New-RedactedZip {
    [CmdletBinding()]
    param([hashtable] $Run, [object[]] $Sources, [scriptblock] $Read)
    Add-Type -AssemblyName System.IO.Compression
    $memory, $left = [IO.MemoryStream]::new(), $ArchiveLimit
    $zip = [IO.Compression.ZipArchive]::new($memory, [IO.Compression.ZipArchiveMode]::Create, $true)
    foreach ($source in $Sources) {
        $text = Protect-Text $Run (& $Read $source)
        if ($text.Length -gt $left) { $text = "left out: the archive has $ArchiveLimit characters already" }
        $left -= $text.Length
        $entry = $zip.CreateEntry($source.Name.Replace('\', '/')).Open()
        try { $entry.Write($Utf8.GetBytes($text), 0, $Utf8.GetByteCount($text)) } finally { $entry.Dispose() }
    }
    $zip.Dispose()
    return , $memory.ToArray()
}
