# The node's pod range, host-local's leases with the source VIP, and removal of an earlier range's or boot's state.

$Holder = 'kube-proxy'    # holder of the source VIP in host-local's leases
# for the removal of a network by HNS, to which the wait for its ports adds $PortSeconds; and for the machine's address
$RemovalSeconds = 60

# .SYNOPSIS
# Return whether the Node object has a pod range.
function Test-PodRangeStep {
    [CmdletBinding()]
    param($Run, $Step)
    $words = "--kubeconfig=$($Step['kubeconfig'])", 'get', 'node', $Step['node'], '--output=jsonpath={.spec.podCIDR}'
    $said = Invoke-Kubectl $Run $Step['kubectl'] $words
    $Run.Seen = "Node $($Step['node']) has no spec.podCIDR, or the API does not show it"
    # Warnings of kubectl may follow it.
    if ($said -notmatch '\A(\d+(\.\d+){3}/\d\d?)(?!\d)') { return $false }
    $Run.Found['pod_subnet'] = $Matches[1]
    $true
}

# .SYNOPSIS
# Poll until the Node object has a pod range.
function Set-PodRangeStep {
    [CmdletBinding()]
    param($Run, $Step)
    Wait-Asked $Run $Step 'PodRange' 'pod-range-missing'
}

# .SYNOPSIS
# Return leases that are unused: those of another range, and in the first run of a boot those of pods without an HNS
# endpoint. Pods that the kubelet starts meanwhile, on a network that outlives a boot, have an endpoint. A range that
# changes later takes the network of pods that run on: their leases stay, because the network watch finds sandboxes by
# them, and they block nothing in the new range.
function Get-StaleLease {
    [CmdletBinding()]
    param($Step)
    $leases, $fresh = (Get-Lease $Step), -not (Test-SetInBoot $Step)
    $used = @(if ($fresh) { Send-HnsRequest 'GET' 'endpoints' | ForEach-Object {
                if ($_.PSObject.Properties['IPAddress']) { $_.IPAddress }
            } })
    foreach ($address in $leases.Keys) {
        $left = $fresh -and $leases[$address] -ne $Holder -and $address -notin $used
        $outside = $Step['subnet'] -and -not (Test-InRange $address $Step['subnet'])
        if ($left -or ($outside -and ($fresh -or $leases[$address] -eq $Holder))) { $address }
    }
}

# .SYNOPSIS
# Return whether the network was cleaned up since this boot.
function Test-SetInBoot {
    [CmdletBinding()]
    param($Step)
    $cleared = (Update-Memory)['cleared']
    [bool] ($cleared -and $cleared[$Step['network']] -eq (Get-BootId))
}

# .SYNOPSIS
# Return the range in flanneld's file, which has the gateway (10.244.3.1/24); empty if there is none.
function Get-FlannelRange {
    [CmdletBinding()]
    param([string] $Path)
    $text = if ($Path -and [IO.File]::Exists($Path)) { [IO.File]::ReadAllText($Path) } else { '' }
    if ($text -match '(?m)^FLANNEL_SUBNET=([0-9.]+)/(\d+)') { Get-Network $Matches[1] ([int] $Matches[2]) } else { '' }
}

# .SYNOPSIS
# Return the subnets of a network; nothing if HNS lists none, as of some transparent networks.
function Get-NetworkSubnet {
    [CmdletBinding()]
    param($Network)
    if ($Network.PSObject.Properties['Subnets']) { $Network.Subnets }
}

# .SYNOPSIS
# Return whether the HNS network has the range or does not exist; true if the range is not known yet.
function Test-NetworkRange {
    [CmdletBinding()]
    param($Network, [string] $Subnet)
    if (-not $Network -or -not $Subnet) { return $true }
    $ranges = @(Get-NetworkSubnet $Network | ForEach-Object { $_.AddressPrefix })
    $ranges.Count -eq 1 -and $ranges[0] -eq $Subnet
}

# .SYNOPSIS
# Return NAT networks that the node's runtime created before this plan ran: they survive boots, their range may overlap
# the cluster's, and their adapter can be mistaken for that of the pod network (NET-02). Those of others stay.
function Get-NatNetwork {
    [CmdletBinding()]
    param($Step)
    @(Send-HnsRequest 'GET' 'networks' | Where-Object { $_.Type -eq 'NAT' -and $_.Name -in $Step['runtime_networks'] })
}

# .SYNOPSIS
# Return whether flanneld's file has the range or does not exist.
function Test-FileRange {
    [CmdletBinding()]
    param($Step)
    $path = $Step['subnet_file']
    -not $path -or -not [IO.File]::Exists($path) -or (Get-FlannelRange $path) -eq $Step['subnet']
}

# .SYNOPSIS
# Return whether this boot's cleanup is done and nothing is left of another range or of NAT networks.
function Test-StaleNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    (Test-SetInBoot $Step) -and (Test-FileRange $Step) -and -not (Get-StaleLease $Step) -and
    -not (Get-NatNetwork $Step) -and
    (Test-NetworkRange (Get-HnsObject 'networks' $Step['network']) $Step['subnet'])
}

# .SYNOPSIS
# Return whether the network must be removed: it has another range, or it is a bridge that outlived a boot. HNS keeps it
# on the previous adapter, although Hyper-V may give the machine a new one (projectcalico/calico#11840). AKS removes
# its bridge at every boot too (Azure/AgentBaker, cleanupnetwork.ps1). A boot loses flannel's network.
function Test-StaleNetwork {
    [CmdletBinding()]
    param($Network, $Step)
    if (-not $Network) { return $false }
    if ($Network.Type -eq 'L2Bridge' -and -not (Test-SetInBoot $Step)) { return $true }
    -not (Test-NetworkRange $Network $Step['subnet'])
}

# .SYNOPSIS
# Return whether the network is a bridge of the planned range on the adapter that has the machine's address.
function Test-PresentBridge {
    [CmdletBinding()]
    param([hashtable] $Run, $Network, $Step)
    $Network.Type -eq 'L2Bridge' -and $Step['subnet'] -and (Test-NetworkRange $Network $Step['subnet']) -and
    $Network.PSObject.Properties['ManagementIP'] -and
    $Network.ManagementIP -eq (Wait-OwnAddress (New-TimedRun $Run $RemovalSeconds))
}

# .SYNOPSIS
# Remove a network of another range or an earlier boot. If HNS refuses that or does not finish it, restart HNS, and
# remove what it lists then. If that fails too, keep a bridge that still fits, because without it every boot would fail.
function Remove-StaleNetwork {
    [CmdletBinding()]
    param([hashtable] $Run, $Network, $Step)
    try { return Remove-HnsNetwork (New-TimedRun $Run $RemovalSeconds) $Network }
    catch {
        if ($_.Exception.Data['hns-silent']) { throw }
        $failure = $_.Exception
    }
    if (Restart-Hns $Run $failure.Message) {
        $left = Get-HnsObject 'networks' $Step['network']
        if (-not $left) { return }
        try { return Remove-HnsNetwork (New-TimedRun $Run $RemovalSeconds) $left } catch { $failure = $_.Exception }
    }
    if (-not (Test-PresentBridge $Run $Network $Step)) { throw $failure }
    Write-Said $Run "$($failure.Message): $($Network.Name) is kept, it is on the adapter with the machine's address"
}

# .SYNOPSIS
# Remove that state before flanneld and kube-proxy run; load balancers first, because HNS does not remove them after
# their network (17763.1554 and later).
function Set-StaleNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    foreach ($name in $Step['services']) {
        if ((Get-ServiceState $name) -notin '', 'Stopped') { Stop-PlannedService $Run $name }
    }
    # without it the runtime reports no network, so the kubelet starts no pod before network and kube-proxy
    if ($Step['cni_file'] -and -not (Test-SetInBoot $Step)) {
        Remove-Item -LiteralPath $Step['cni_file'] -Force -ErrorAction Ignore
    }
    Remove-HnsPolicyList $Run
    foreach ($each in Get-NatNetwork $Step) { Remove-HnsNetwork $Run $each }
    $network = Get-HnsObject 'networks' $Step['network']
    if (Test-StaleNetwork $network $Step) { Remove-StaleNetwork $Run $network $Step }
    if (-not (Test-FileRange $Step)) { [IO.File]::Delete($Step['subnet_file']) }
    foreach ($address in @(Get-StaleLease $Step)) {
        [IO.File]::Delete("$($Step['data_directory'])\$($Step['network'])\$address")
    }
    $cleared = (Update-Memory)['cleared']
    if (-not $cleared) { $cleared = [ordered] @{} }
    $cleared[$Step['network']] = Get-BootId
    [void](Update-Memory @{ cleared = $cleared })
}

# .SYNOPSIS
# Return kube-proxy's address in host-local's leases, or nothing.
function Get-HeldAddress {
    [CmdletBinding()]
    param($Step)
    $leases = Get-Lease $Step
    $leases.Keys | Where-Object { $leases[$_] -eq $Holder } | Sort-Object | Select-Object -First 1
}

# .SYNOPSIS
# Run host-local to reserve (ADD) or release (DEL) kube-proxy's address.
function Invoke-HostLocal {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, [string] $Verb, [string] $Subnet)
    $books = @{ type = 'host-local'; dataDir = $Step['data_directory']; ranges = @(, @(@{ subnet = $Subnet })) }
    $program = @{
        Program = $Step['plugin']
        InputText = ConvertTo-JsonText @{ cniVersion = '1.0.0'; name = $Step['network']; ipam = $books }
        TimeoutSeconds = Get-SecondsLeft $Run
        Environment = @{
            CNI_COMMAND = $Verb; CNI_CONTAINERID = $Holder; CNI_NETNS = $Holder
            CNI_IFNAME = 'source-vip'; CNI_PATH = [IO.Path]::GetDirectoryName($Step['plugin'])
        }
    }
    [void](Invoke-Program @program)
}

# .SYNOPSIS
# Return whether kube-proxy has an address in the node's range.
function Test-SourceVipStep {
    [CmdletBinding()]
    param($Run, $Step)
    $held = Get-HeldAddress $Step
    if (-not $held -or -not (Test-InRange $held $Step['subnet'])) { return $false }
    $Run.Found['source_vip'] = $held
    $true
}

# .SYNOPSIS
# Release an address of an earlier range, then reserve one.
function Set-SourceVipStep {
    [CmdletBinding()]
    param($Run, $Step)
    $held = Get-HeldAddress $Step
    if ($held) { Invoke-HostLocal $Run $Step 'DEL' (Get-Network $held ([int] $Step['subnet'].Split('/')[1])) }
    Invoke-HostLocal $Run $Step 'ADD' $Step['subnet']
}
