# The node's pods: their range, host-local's books with the source VIP, what is left of an earlier range or boot.

$Holder = 'kube-proxy'    # who holds the source VIP, in host-local's books

# .SYNOPSIS
# Whether the Node object has a pod range.
function Test-PodRangeStep {
    [CmdletBinding()]
    param($Run, $Step)
    $words = "--kubeconfig=$($Step['kubeconfig'])", 'get', 'node', $Step['node'], '--output=jsonpath={.spec.podCIDR}'
    $said = Invoke-Kubectl $Run $Step['kubectl'] $words
    $Run.Seen = "Node $($Step['node']) has no spec.podCIDR, or the API does not show it"
    # What kubectl may warn of comes behind it.
    if ($said -notmatch '\A(\d+(\.\d+){3}/\d\d?)(?!\d)') { return $false }
    $Run.Found['pod_subnet'] = $Matches[1]
    $true
}

# .SYNOPSIS
# Asks until it has.
function Set-PodRangeStep {
    [CmdletBinding()]
    param($Run, $Step)
    Wait-Asked $Run $Step 'PodRange' 'pod-range-missing'
}

# .SYNOPSIS
# What host-local's books hold: @{ address = holder }. It keeps a file per address that starts with the holder.
function Get-Lease {
    [CmdletBinding()]
    param($Step)
    $leases = @{}
    $folder = "$($Step['data_directory'])\$($Step['network'])"
    if (-not [IO.Directory]::Exists($folder)) { return $leases }
    foreach ($file in [IO.Directory]::GetFiles($folder)) {
        $name = [IO.Path]::GetFileName($file)
        if ($name -match '^\d+(\.\d+){3}$') { $leases[$name] = @([IO.File]::ReadAllLines($file) + '')[0] }
    }
    $leases
}

# .SYNOPSIS
# Addresses in the books that nobody uses: of another range; in the first run of a boot also those of pods that HNS has
# no endpoint for. The kubelet may be making pods already where the network outlives a boot: they have one.
function Get-StaleLease {
    [CmdletBinding()]
    param($Step)
    $leases, $fresh = (Get-Lease $Step), -not (Test-SetInBoot $Step)
    $used = @(if ($fresh) { Send-HnsRequest 'GET' 'endpoints' | ForEach-Object {
                if ($_.PSObject.Properties['IPAddress']) { $_.IPAddress }
            } })
    foreach ($address in $leases.Keys) {
        $left = $fresh -and $leases[$address] -ne $Holder -and $address -notin $used
        if ($left -or -not (Test-InRange $address $Step['subnet'])) { $address }
    }
}

# .SYNOPSIS
# Whether the network was cleared since this boot.
function Test-SetInBoot {
    [CmdletBinding()]
    param($Step)
    $cleared = (Update-Memory)['cleared']
    [bool] ($cleared -and $cleared[$Step['network']] -eq (Get-BootId))
}

# .SYNOPSIS
# The range in flanneld's file, which names it by its gateway (10.244.3.1/24); empty without one.
function Get-FlannelRange {
    [CmdletBinding()]
    param([string] $Path)
    $text = if ($Path -and [IO.File]::Exists($Path)) { [IO.File]::ReadAllText($Path) } else { '' }
    if ($text -match '(?m)^FLANNEL_SUBNET=([0-9.]+)/(\d+)') { Get-Network $Matches[1] ([int] $Matches[2]) } else { '' }
}

# .SYNOPSIS
# Whether the HNS network, if it is there, has the range.
function Test-NetworkRange {
    [CmdletBinding()]
    param($Network, [string] $Subnet)
    if (-not $Network) { return $true }
    $ranges = @($Network.Subnets | ForEach-Object { $_.AddressPrefix })
    $ranges.Count -eq 1 -and $ranges[0] -eq $Subnet
}

# .SYNOPSIS
# Networks that Docker or containerd made for themselves before they were ours: such a one survives boots, its range may
# be one that the cluster's network has, and its adapter passes for the pods' (NET-02).
function Get-NatNetwork {
    [CmdletBinding()]
    param()
    @(Send-HnsRequest 'GET' 'networks' | Where-Object { $_.Type -eq 'NAT' })
}

# .SYNOPSIS
# Whether flanneld's file, if it is there, has the range.
function Test-FileRange {
    [CmdletBinding()]
    param($Step)
    $path = $Step['subnet_file']
    -not $path -or -not [IO.File]::Exists($path) -or (Get-FlannelRange $path) -eq $Step['subnet']
}

# .SYNOPSIS
# Whether nothing is left of another range or of NAT, and this boot's clearing is done.
function Test-StaleNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    (Test-SetInBoot $Step) -and (Test-FileRange $Step) -and -not (Get-StaleLease $Step) -and -not (Get-NatNetwork) -and
    (Test-NetworkRange (Get-HnsObject 'networks' $Step['network']) $Step['subnet'])
}

# .SYNOPSIS
# Takes it away, before flanneld or kube-proxy run: load balancers that are left would hold the network (17763.1554 on).
function Set-StaleNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    foreach ($name in $Step['services']) {
        if ((Get-ServiceState $name) -notin '', 'Stopped') { Stop-PlannedService $Run $name }
    }
    Remove-HnsPolicyList
    foreach ($each in Get-NatNetwork) { Remove-HnsNetwork $each }
    $network = Get-HnsObject 'networks' $Step['network']
    if (-not (Test-NetworkRange $network $Step['subnet'])) { Remove-HnsNetwork $network }
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
# The address that host-local holds for kube-proxy, or nothing.
function Get-HeldAddress {
    [CmdletBinding()]
    param($Step)
    $leases = Get-Lease $Step
    $leases.Keys | Where-Object { $leases[$_] -eq $Holder } | Sort-Object | Select-Object -First 1
}

# .SYNOPSIS
# Asks host-local to reserve (ADD) or release (DEL) our address.
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
# Whether an address of the node's range is held; one of an earlier range does not count.
function Test-SourceVipStep {
    [CmdletBinding()]
    param($Run, $Step)
    $held = Get-HeldAddress $Step
    if (-not $held -or -not (Test-InRange $held $Step['subnet'])) { return $false }
    $Run.Found['source_vip'] = $held
    $true
}

# .SYNOPSIS
# Releases an address of an earlier range, then reserves one.
function Set-SourceVipStep {
    [CmdletBinding()]
    param($Run, $Step)
    $held = Get-HeldAddress $Step
    if ($held) { Invoke-HostLocal $Run $Step 'DEL' (Get-Network $held ([int] $Step['subnet'].Split('/')[1])) }
    Invoke-HostLocal $Run $Step 'ADD' $Step['subnet']
}
