# Watches the endpoints of this machine's pods; watch-network.ps1 calls Watch-Endpoint.

$Crictl = 'C:\k\crictl.exe'
$StopSeconds = 60    # for one call of crictl
$LookSeconds = 120    # in one look no call of crictl begins later

# .SYNOPSIS
# Stop sandboxes that two looks in a row found without an endpoint: HNS lost it, the containers run on without network,
# and the kubelet restarts them in the same sandbox. In place of a stopped sandbox it makes a new one. host-local's
# leases name the sandboxes. A lease stays if crictl cannot stop its sandbox or there is no sandbox; $Limits bounds the
# number of attempts.
function Stop-LostSandbox {
    [CmdletBinding()]
    param([hashtable] $Run, $Record, $Endpoints)
    $used = @($Endpoints | ForEach-Object { $_.IPAddress })
    $leases = Get-Lease (Get-PlannedStep $Run 'stale-network')
    $lost = [ordered] @{}
    foreach ($address in $leases.Keys) {
        if ($leases[$address] -ne $Holder -and $address -notin $used) { $lost[$leases[$address]] = $address }
    }
    Clear-Repair $Record 'sandbox' @($lost.Keys)
    $watch = [Diagnostics.Stopwatch]::StartNew()
    foreach ($id in Get-Confirmed $Record 'sandbox' @($lost.Keys)) {
        $why = "HNS has no endpoint with the address $($lost[$id]) of sandbox $id"
        if (-not (Test-RepairDue $Run $Record 'sandbox' $id $why)) { continue }
        if ($Record['repairs']["sandbox $id"]['made'].Count -eq 1) {
            Write-Event $Run "${why}: the kubelet makes a new one" 0
            Write-Said $Run "${why}: the kubelet makes a new one"
        }
        $words = '--timeout', "${StopSeconds}s", 'stopp', $id
        # crictl can hang: a stop that times out is an attempt too
        try { [void](Invoke-Program $Crictl $words -TimeoutSeconds ($StopSeconds + 10)) }
        catch { Write-Said $Run "the sandbox is not stopped: $($_.Exception.GetBaseException().Message)" }
        if ($watch.Elapsed.TotalSeconds -gt $LookSeconds) { return }
    }
}

# .SYNOPSIS
# Say which addresses several endpoints of this machine have: a pod with one has no network until it moves to another
# node (Azure/AKS#5653, microsoft/Windows-Containers#631). Nothing is repaired, because either may be the living one.
function Write-SharedAddress {
    [CmdletBinding()]
    param([hashtable] $Run, $Record, $Endpoints)
    $groups = $Endpoints | Group-Object -Property IPAddress | Sort-Object -Property Name
    $shared = $groups | Where-Object { $_.Count -gt 1 }
    $texts = $shared | ForEach-Object { "$($_.Name): $(@($_.Group | ForEach-Object { $_.Name }) -join ', ')" }
    $said = @($texts) -join '; '
    if ($said -and $said -ne $Record['shared']) {
        Write-Event $Run "several HNS endpoints have one address, drain this node: $said" 0
        Write-Said $Run "several HNS endpoints have one address, drain this node: $said"
    }
    $Record['shared'] = $said
}

# .SYNOPSIS
# Look at the endpoints of this machine's pods once, unless the network is lost.
function Watch-Endpoint {
    [CmdletBinding()]
    param([hashtable] $Run, $Record)
    if (-not (Test-PodNetwork $Run (Get-PlannedStep $Run $NetworkKinds))) { return }
    $own = @(Send-HnsRequest 'GET' 'endpoints' | Where-Object {
            $remote = $_.PSObject.Properties['IsRemoteEndpoint'] -and $_.IsRemoteEndpoint
            -not $remote -and $_.PSObject.Properties['IPAddress'] -and $_.IPAddress
        })
    Write-SharedAddress $Run $Record $own
    Stop-LostSandbox $Run $Record $own
}
