# The epoch of the last restore from a snapshot (mullion restore). The control plane's agent publishes it; each machine
# remembers the last one that its programs follow (epoch.ps1 restarts them for a newer one).

$EpochObject = 'epoch.json'    # object of the bundle store: {"epoch": number}; missing before the first restore
$Followed = "$env:ProgramData\mullion\epoch"
$Watching = 'kubelet', 'flanneld', 'kube-proxy'    # in the order of their start

# .SYNOPSIS
# Return the epoch if it differs from the one followed last; empty if not, or if the store is unreachable.
function Get-NewEpoch {
    [CmdletBinding()]
    param($Facts)
    if (-not $Facts['bundle_store']) { return '' }
    try {
        $bytes = Invoke-SignedRequest -Url "$($Facts['bundle_store'])/$EpochObject" -Service 'store'
        $epoch = [string] [int] (ConvertFrom-Json $Utf8.GetString($bytes)).epoch
    }
    catch { return '' }
    if ([IO.File]::Exists($Followed) -and [IO.File]::ReadAllText($Followed) -eq $epoch) { '' } else { $epoch }
}

# .SYNOPSIS
# Remember the epoch if none of the programs runs: they start after that restore, and need no restart for it.
function Save-Epoch {
    [CmdletBinding()]
    param([hashtable] $Run)
    if ($Run.Checking) { return }
    foreach ($name in $Watching) { if ((Get-ServiceState $name) -notin '', 'Stopped') { return } }
    $epoch = Get-NewEpoch $Run.Told.facts
    if ($epoch) { Set-WholeFile $Followed $Utf8.GetBytes($epoch) }
}
