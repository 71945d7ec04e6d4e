# Restart of the Host Networking Service (HNS), for faults that only a restart ends: HNS hangs
# (Azure/aks-engine#4315), keeps the name of a network that it does not list (microsoft/hcsshim#850), keeps a network
# that it was told to remove, or leaves a virtual switch without a network (flannel-io/flannel#1966). A restart takes
# the network of every pod away, so there is at most one in each boot.

$HnsRestartSeconds = 120    # for the stop of hns and its dependents, and as many for their start

# .SYNOPSIS
# Restart HNS, once in a boot, and say why. Return whether this call did it; throw service-failed if HNS does not stop
# or start. Services that depend on it, which Windows stops with it, run again afterwards, as does HNS if its stop
# failed. The step's time stands still.
function Restart-Hns {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Why)
    if (-not (Get-ServiceState 'hns')) { return $false }
    if ((Update-Memory)['hns_restarted'] -eq (Get-BootId)) {
        Write-Said $Run "${Why}: the one restart of HNS in this boot is used up, restart the machine"
        return $false
    }
    [void](Update-Memory @{ hns_restarted = Get-BootId })
    Write-Said $Run "${Why}: HNS is restarted"
    $dependents, $failure = @(Get-RunningDependent 'hns'), $null
    $Run.Watch.Stop()
    try {
        try { Stop-PlannedService (New-TimedRun $Run $HnsRestartSeconds) 'hns' } catch { $failure = $_.Exception }
        # Windows starts no service whose stop hangs (StopPending)
        try { Start-HnsAgain (New-TimedRun $Run $HnsRestartSeconds) $dependents } catch { if (-not $failure) { throw } }
    }
    finally { $Run.Watch.Start() }
    if ($failure) { throw (New-Failure 'service-failed' "${Why}; $($failure.Message): restart the machine") }
    $true
}

# .SYNOPSIS
# Start HNS, then its dependents. Say which of these do not start: HNS counts.
function Start-HnsAgain {
    [CmdletBinding()]
    param([hashtable] $Run, [string[]] $Names)
    Start-PlannedService $Run 'hns'
    foreach ($name in $Names) {
        try { Start-PlannedService $Run $name }
        catch { Write-Said $Run "after the restart of HNS: $($_.Exception.GetBaseException().Message)" }
    }
}
