# Files from the network.

# .SYNOPSIS
# Whether the file has its digest.
function Test-ArtifactStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ($Step['digest'] -notmatch '^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$') {
        throw (New-Failure 'step-invalid' "$($Step['digest']) is no digest")
    }
    [IO.File]::Exists($Step['path']) -and (Get-FileDigest $Run $Step['path'] $Step['digest']) -eq $Step['digest']
}

# .SYNOPSIS
# Where a download grows: beside the target, named after its digest, so that only the same file goes on.
function Get-PartPath {
    [CmdletBinding()]
    param($Step)
    '{0}.{1}.part' -f $Step['path'], $Step['digest'].Split(':')[1].Substring(0, 12)
}

# .SYNOPSIS
# The download of an artifact step, with the space and the time it has.
function New-StepDownload {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, [int] $Seconds)
    $part = Get-PartPath $Step
    [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($part))
    $free = [IO.DriveInfo]::new($part.Substring(0, 1)).AvailableFreeSpace
    $have = if ([IO.File]::Exists($part)) { [IO.FileInfo]::new($part).Length } else { 0 }
    $download = New-Download $Step['url'] $part $Seconds
    $download.Size = [long] $Step['size']
    if ($Step['size'] -and $Step['size'] - $have -gt $free) {
        $download.Failure = New-Failure 'disk-full' "$part needs $($Step['size'] - $have) bytes, $free are free"
    }
    $download
}

# .SYNOPSIS
# The first try of all artifacts of a phase that are missing, some at a time. How each ended is told in its own turn.
function Save-PhaseArtifact {
    [CmdletBinding()]
    param([hashtable] $Run, $Phase)
    $Run.Fetched = @{}
    foreach ($step in $Phase['steps']) {
        if ($step['kind'] -ne 'artifact') { continue }
        # What cannot be judged yet is judged in its turn.
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
# Downloads beside the target, checks, then renames: what is at the path was always checked.
function Set-ArtifactStep {
    [CmdletBinding()]
    param($Run, $Step)
    $path, $name = $Step['path'], $Step['name']
    if ($Run.Fetched -and $Run.Fetched.ContainsKey($name)) {
        $download = $Run.Fetched[$name]
        $Run.Fetched.Remove($name)
    }
    else {
        $download = New-StepDownload $Run $Step (Get-SecondsLeft $Run)
        if (-not $download.Failure) { Invoke-Download $Run $download }
    }
    if ($download.Failure) { throw $download.Failure }
    $found = Get-FileDigest $Run $download.Part $Step['digest']
    if ($found -ne $Step['digest']) {
        [IO.File]::Delete($download.Part)
        throw (New-Failure 'digest-mismatch' "$($Step['url']) has $found, the plan says $($Step['digest'])")
    }
    Move-IntoPlace $download.Part $path
}
