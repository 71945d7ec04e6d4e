# Rotates logs of services: kube-log-runner up to 1.33 and containerd never rotate theirs, and nssm keeps all rotated
# files. Copies a large log and truncates it (its writer appends, so it continues at the new end), and deletes all but
# the newest rotated files. A task runs this every hour.
[CmdletBinding()]
param([string] $Logs = 'C:\var\log', [long] $Bytes = 50MB, [int] $Kept = 3)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$Invariant = [Globalization.CultureInfo]::InvariantCulture    # other cultures may have other calendars
$DiskFull = 112, 39    # ERROR_DISK_FULL, ERROR_HANDLE_DISK_FULL (winerror.h), the lower half of an HRESULT
$Pods = 'pods', 'containers'    # the kubelet rotates these (containerLogMaxSize)

# .SYNOPSIS
# Copy a log that is larger than Bytes, then truncate it. Truncate it without a copy if the disk has no room for one.
function Split-Log {
    [CmdletBinding()]
    param([string] $Path, [long] $Bytes)
    $file = [IO.FileInfo]::new($Path)
    if (-not $file.Exists -or $file.Length -le $Bytes) { return }
    $stamp = [DateTime]::UtcNow.ToString('yyyyMMddTHHmmssfff', $Invariant)
    $copy = [IO.Path]::ChangeExtension($Path, "$stamp.log")
    $log = [IO.FileStream]::new($Path, 'Open', 'ReadWrite', 'ReadWrite, Delete')
    try {
        try {
            $aside = [IO.File]::Create($copy)
            try { $log.CopyTo($aside) } finally { $aside.Dispose() }
        }
        catch {
            [IO.File]::Delete($copy)
            if (($_.Exception.GetBaseException().HResult -band 0xFFFF) -notin $DiskFull) { throw }
        }
        $log.SetLength(0)
    }
    finally { $log.Dispose() }
}

# .SYNOPSIS
# Delete all but the newest rotated files.
function Remove-OldLog {
    [CmdletBinding()]
    param([string] $Folder, [string] $Current, [int] $Kept)
    $aside = @([IO.DirectoryInfo]::new($Folder).GetFiles('*.log') | Where-Object { $_.FullName -ne $Current } |
            Sort-Object LastWriteTimeUtc, Name -Descending | Select-Object -Skip $Kept)
    foreach ($each in $aside) {
        # Another program may have it open; the next run tries again.
        try { $each.Delete() } catch [IO.IOException] { [void] $_ }
    }
}

if (-not [IO.Directory]::Exists($Logs)) { exit 0 }
foreach ($folder in [IO.Directory]::GetDirectories($Logs)) {
    $name = [IO.Path]::GetFileName($folder)
    if ($name -in $Pods) { continue }
    # the old ones first, because a copy needs their room; again, because a copy is one more
    Remove-OldLog $folder "$folder\$name.log" $Kept
    # Another program may have it open alone; the next run tries again.
    try { Split-Log "$folder\$name.log" $Bytes } catch [IO.IOException] { [void] $_ }
    Remove-OldLog $folder "$folder\$name.log" $Kept
}
