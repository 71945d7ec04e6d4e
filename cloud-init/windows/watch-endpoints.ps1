# Watches endpoints of pods. watch-network.ps1 calls Watch-Endpoint for those of this machine.

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
    $step = Get-PlannedStep $Run 'stale-network'
    Remove-EmptyLease $Run $Record $step $used
    $leases = Get-Lease $step
    $lost = [ordered] @{}
    foreach ($address in $leases.Keys) {
        if ($leases[$address] -notin '', $Holder -and $address -notin $used) { $lost[$leases[$address]] = $address }
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
    # HNS shows no name of endpoints that were made without one
    $texts = $shared | ForEach-Object {
        $names = $_.Group | ForEach-Object { if ($_.PSObject.Properties['Name']) { $_.Name } else { $_.ID } }
        "$($_.Name): $(@($names) -join ', ')"
    }
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
    if (Test-KubeletStopped) { return }
    if (-not (Test-PodNetwork $Run (Get-PlannedStep $Run $NetworkKinds))) { return }
    $own = @(Send-HnsRequest 'GET' 'endpoints' | Where-Object {
            $remote = $_.PSObject.Properties['IsRemoteEndpoint'] -and $_.IsRemoteEndpoint
            -not $remote -and $_.PSObject.Properties['IPAddress'] -and $_.IPAddress
        })
    Write-SharedAddress $Run $Record $own
    Stop-LostSandbox $Run $Record $own
}

# .SYNOPSIS
# Return remote endpoints whose provider address is not that of the network's route to their range. kube-proxy gives the
# endpoint of another node's pod its own node's address if flanneld has not routed that pod's range yet, and takes an
# existing endpoint as it is after its restart (Kubernetes, pkg/proxy/winkernel/proxier.go): packets of Services to that
# pod never leave the node.
function Get-StrayEndpoint {
    [CmdletBinding()]
    param($Network)
    if (-not $Network) { return }
    $ways, $sizes = @{}, @{}
    $policies = if ($Network.PSObject.Properties['Policies']) { $Network.Policies }
    foreach ($policy in $policies) {
        if (-not $policy.PSObject.Properties['DestinationPrefix']) { continue }
        if (-not $policy.PSObject.Properties['ProviderAddress']) { continue }
        $range = $policy.DestinationPrefix
        $ways[$range] = @($ways[$range]) + $policy.ProviderAddress
        $sizes[$range.Split('/')[1]] = $true
    }
    foreach ($one in Get-NetworkEndpoint $Network) {
        if (-not $one.PSObject.Properties['IsRemoteEndpoint'] -or -not $one.IsRemoteEndpoint) { continue }
        if (-not $one.PSObject.Properties['IPAddress'] -or -not $one.IPAddress) { continue }
        if (-not $one.PSObject.Properties['Policies']) { continue }
        $told = $one.Policies | ForEach-Object { if ($_.PSObject.Properties['PA']) { $_.PA } }
        $way = $sizes.Keys | ForEach-Object { $ways[(Get-Network $one.IPAddress ([int] $_))] }
        if ($told -and $way -and $told -notin $way) { $one }
    }
}

# .SYNOPSIS
# Load balancers send to endpoints with a wrong provider address at two looks.
function Get-StrayLoss {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, $Record)
    if ($Step['kind'] -ne 'overlay-network') { return }
    $stray = @(Get-StrayEndpoint (Get-HnsObject 'networks' $Step['network']))
    # endpoints that no load balancer uses do no harm
    $used = @(if ($stray) {
            Send-HnsRequest 'GET' 'policylists' | ForEach-Object {
                if ($_.PSObject.Properties['References']) { $_.References }
            }
        })
    $found = @($stray | Where-Object { "/endpoints/$($_.ID)" -in $used } | ForEach-Object { $_.IPAddress })
    $lost = @(Get-Confirmed $Record 'strays' @($found | Sort-Object -Unique))
    Clear-Repair $Record 'strays' $lost
    if (-not $lost) { return }
    "load balancers send packets for $($lost -join ', ') to a node that does not have these pods"
    $lost
}

# .SYNOPSIS
# Remove endpoints with a wrong provider address, after the load balancers. kube-proxy makes both again at its start.
function Remove-StrayEndpoint {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    # a bridge has no routes, and its endpoints no provider address
    if (-not $Step -or $Step['kind'] -ne 'overlay-network') { return }
    $stray = @(Get-StrayEndpoint (Get-HnsObject 'networks' $Step['network']))
    if (-not $stray) { return }
    Remove-HnsPolicyList $Run
    Remove-HnsObject $Run 'endpoints' $stray
}
