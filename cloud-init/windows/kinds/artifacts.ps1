# Artifacts: downloaded files, moved to their path only with the right digest.

# .SYNOPSIS
# Return whether the file has its digest.
function Test-ArtifactStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ($Step['digest'] -notmatch '^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$') {
        throw (New-Failure 'step-invalid' "$($Step['digest']) is no digest")
    }
    [IO.File]::Exists($Step['path']) -and (Get-KnownDigest $Run $Step['path'] $Step['digest']) -eq $Step['digest']
}

# .SYNOPSIS
# Return the path of the partial file: beside the target, named by the digest, so only the same file is resumed.
function Get-PartPath {
    [CmdletBinding()]
    param($Step)
    '{0}.{1}.part' -f $Step['path'], $Step['digest'].Split(':')[1].Substring(0, 12)
}

# .SYNOPSIS
# Return the download of an artifact step; its Failure is disk-full if the disk has too little space.
function New-StepDownload {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, [int] $Seconds, [string] $Url = $Step['url'])
    $part = Get-PartPath $Step
    [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($part))
    $free = [IO.DriveInfo]::new($part.Substring(0, 1)).AvailableFreeSpace
    $have = if ([IO.File]::Exists($part)) { [IO.FileInfo]::new($part).Length } else { 0 }
    $download = New-Download $Url $part $Seconds
    if ($Step['size']) { $download.Most = [long] $Step['size'] }
    if ($Step['size'] -and $Step['size'] - $have -gt $free) {
        $download.Failure = New-Failure 'disk-full' "$part needs $($Step['size'] - $have) bytes, $free are free"
    }
    $download
}

# .SYNOPSIS
# Download all missing artifacts of a phase, $AtOnce at a time. Each step reports its own result later.
function Save-PhaseArtifact {
    [CmdletBinding()]
    param([hashtable] $Run, $Phase)
    $Run.Fetched = @{}
    foreach ($step in $Phase['steps']) {
        if ($step['kind'] -ne 'artifact') { continue }
        # A step that cannot be tested yet is tested in its turn.
        try {
            $ready = Get-ReadyStep $Run $step
            if (-not (Test-Step $Run $ready)) { $Run.Fetched[$step['name']] = New-StepDownload $Run $ready $Run.Limit }
        }
        catch { [void] 'in its turn' }
    }
    $sound = @($Run.Fetched.Values | Where-Object { -not $_.Failure })
    if ($sound) { Invoke-Download $Run $sound }
}

# .SYNOPSIS
# Return what is wrong with a finished download, or nothing; remove a file with another digest.
function Get-ArtifactFailure {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, [hashtable] $Download, [string] $Url)
    if ($Download.Failure) { return $Download.Failure }
    $found = Get-FileDigest $Run $Download.Part $Step['digest']
    if ($found -eq $Step['digest']) { return }
    [IO.File]::Delete($Download.Part)
    New-Failure 'digest-mismatch' "$Url has $found, the plan says $($Step['digest'])"
}

# .SYNOPSIS
# Download beside the target from the first address that gives the file with its digest, then rename.
function Set-ArtifactStep {
    [CmdletBinding()]
    param($Run, $Step)
    $download, $said, $name = $null, @(), ''
    if ($Run.Fetched -and $Run.Fetched.ContainsKey($Step['name'])) {
        $download = $Run.Fetched[$Step['name']]
        $Run.Fetched.Remove($Step['name'])
    }
    foreach ($url in @($Step['url']) + @($Step['fallbacks'] | Where-Object { $_ })) {
        if (-not $download) {
            $download = New-StepDownload $Run $Step (Get-SecondsLeft $Run) $url
            if (-not $download.Failure) { Invoke-Download $Run $download }
        }
        $failure = Get-ArtifactFailure $Run $Step $download $url
        if (-not $failure) { return Move-IntoPlace $download.Part $Step['path'] }
        $said += $failure.Message
        $name = $failure.Data['mullion']
        if ($name -notin 'download-failed', 'certificate-refused', 'redirect-refused', 'digest-mismatch') { break }
        $download = $null
    }
    throw (New-Failure $name ($said -join '; '))
}
