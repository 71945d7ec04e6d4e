# Moves this machine's pods away when the cloud announces that it takes a spot machine back; a service of spot pools.
# -Seconds: time for the drain, from the announcement. -Grace: longest grace period of a pod in seconds; -1: the pod's
# own. It acts as the node itself: a kubelet may cordon its own Node and evict its own pods (Kubernetes,
# plugin/pkg/admission/noderestriction).
[CmdletBinding()]
param(
    [Parameter(Mandatory)] [int] $Seconds, [Parameter(Mandatory)] [int] $Grace,
    [Parameter(Mandatory)] [string] $Kubectl, [Parameter(Mandatory)] [string] $Kubeconfig
)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
. "$PSScriptRoot\loader.ps1" -Functions
. "$PSScriptRoot\load-modules.ps1"

$EverySeconds = 2    # between two questions to the metadata service
$AgainSeconds = 1    # from a failed drain to the next one

# .SYNOPSIS
# Return once the cloud has announced that it takes the machine back.
function Wait-Interruption {
    [CmdletBinding()]
    param([hashtable] $Run)
    $said = ''
    for (; ; ) {
        try { if (& $Clouds[$Site.Facts.cloud].Interrupted) { return } }
        catch {
            $why = $_.Exception.GetBaseException().Message
            if ($why -ne $said) { Write-Said $Run "the metadata service does not say whether this machine stays: $why" }
            $said = $why
        }
        Start-Sleep -Seconds $EverySeconds
    }
}

# .SYNOPSIS
# Drain this node, again and again, until that succeeds or the time has passed. Only pods of DaemonSets have the label
# pod-template-generation; --ignore-daemonsets would read their DaemonSets, which a node may not. Nor may it read a pod
# that no longer exists, so kubectl can report a refusal after an eviction that succeeded; the next drain succeeds.
function Invoke-Drain {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name)
    $watch = [Diagnostics.Stopwatch]::StartNew()
    while (($left = $Seconds - [int] $watch.Elapsed.TotalSeconds) -gt 0) {
        $words = @(
            '--kubeconfig', $Kubeconfig, '--request-timeout=5s', 'drain', $Name
            '--pod-selector=!pod-template-generation', '--force', '--delete-emptydir-data'
            "--grace-period=$Grace", "--timeout=${left}s"
        )
        try {
            [void](Invoke-Program $Kubectl $words -TimeoutSeconds $left)
            return Write-Said $Run 'the node is drained'
        }
        catch { Write-Said $Run "the drain failed: $($_.Exception.GetBaseException().Message)" }
        Start-Sleep -Seconds $AgainSeconds
    }
    Write-Said $Run "pods are left after $Seconds s"
}

$run = New-Run (Read-Json "$Mullion\machine.json") $false
$Site.Facts = $run.Told.facts
Wait-Interruption $run
Write-Said $run 'the cloud takes this machine back: its node is drained'
Invoke-Drain $run $run.Told.machine.name    # nssm starts the service again: it drains until the end
