# Cuts logs of services to size: kube-log-runner up to 1.33 and containerd only ever add to theirs, and nssm keeps all
# that it set aside. A log that is too large is copied beside it and emptied (its writer opened it to append, so it goes
# on at the new end); of what was set aside the newest stay. A task runs it every hour.
[CmdletBinding()]
param([string] $Logs = 'C:\var\log', [long] $Bytes = 50MB, [int] $Kept = 3)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$Pods = 'pods', 'containers'    # the kubelet's own; it cuts them itself (containerLogMaxSize)

# .SYNOPSIS
# Copies a log that is too large beside it, then empties it.
function Split-Log {
    [CmdletBinding()]
    param([string] $Path, [long] $Bytes)
    $file = [IO.FileInfo]::new($Path)
    if (-not $file.Exists -or $file.Length -le $Bytes) { return }
    $stamp = '{0:yyyyMMddTHHmmssfff}' -f [DateTime]::UtcNow
    $copy = [IO.Path]::ChangeExtension($Path, "$stamp.log")
    $log = [IO.FileStream]::new($Path, 'Open', 'ReadWrite', 'ReadWrite, Delete')
    try {
        $aside = [IO.File]::Create($copy)
        try { $log.CopyTo($aside) } finally { $aside.Dispose() }
        $log.SetLength(0)
    }
    finally { $log.Dispose() }
}

# .SYNOPSIS
# Deletes what was set aside, but for the newest.
function Remove-OldLog {
    [CmdletBinding()]
    param([string] $Folder, [string] $Current, [int] $Kept)
    $aside = @([IO.DirectoryInfo]::new($Folder).GetFiles('*.log') | Where-Object { $_.FullName -ne $Current } |
            Sort-Object LastWriteTimeUtc, Name -Descending | Select-Object -Skip $Kept)
    foreach ($each in $aside) {
        # Somebody may read it; the next hour comes.
        try { $each.Delete() } catch [IO.IOException] { [void] $_ }
    }
}

if (-not [IO.Directory]::Exists($Logs)) { exit 0 }
foreach ($folder in [IO.Directory]::GetDirectories($Logs)) {
    $name = [IO.Path]::GetFileName($folder)
    if ($name -in $Pods) { continue }
    Split-Log "$folder\$name.log" $Bytes
    Remove-OldLog $folder "$folder\$name.log" $Kept
}
