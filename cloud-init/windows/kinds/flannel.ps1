# Kind overlay-network: flanneld makes the network of the Host Networking Service (HNS) for VXLAN.

$FlannelStarts = 3    # maximum starts of flanneld within the step's timeout
$FlannelSeconds = 60    # for the stop and the start of one restart

# .SYNOPSIS
# Return the first value in flanneld's file that does not match this node, as text; nothing if all match (OPS-06).
function Get-SubnetFileProblem {
    [CmdletBinding()]
    param($Step)
    $path = $Step['subnet_file']
    if (-not [IO.File]::Exists($path)) { return "$path is not there" }
    $values = @{}
    foreach ($line in [IO.File]::ReadAllLines($path)) {
        $values[$line.Split('=')[0]] = $line.Substring($line.IndexOf('=') + 1)
    }
    # flanneld takes the MTU of the adapter minus 50 bytes of VXLAN; virtual adapters may have another.
    $rows = @(
        , @('FLANNEL_NETWORK', [regex]::Escape($Step['pods']))
        , @('FLANNEL_SUBNET', '[0-9.]+/\d+')
        , @('FLANNEL_MTU', '\d+')
        , @('FLANNEL_IPMASQ', 'false')    # the CNI file has the only OutBoundNAT policy
    )
    foreach ($row in $rows) {
        if ("$($values[$row[0]])" -notmatch "\A$($row[1])\z") { return "$path has $($row[0])=$($values[$row[0]])" }
    }
    $range = Get-FlannelRange $path
    if ($range -ne $Step['subnet']) { "$path has the range $range, the Node object $($Step['subnet'])" }
}

# .SYNOPSIS
# Return the first problem as error name and text; nothing if there is none.
function Get-OverlayProblem {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $name = $Step['network']
    $network = Get-HnsObject 'networks' $name
    $adapters = @(Find-NetObject { Get-NetAdapter -ErrorAction Stop } | ForEach-Object { $_.Name })
    if (-not ($adapters -like 'vEthernet (*')) {
        return 'adapter-missing', "no virtual network: there is no adapter vEthernet, only $($adapters -join ', ')"
    }
    if (-not $network) { return 'overlay-missing', "HNS has no network $name" }
    if ($network.Type -ne 'Overlay' -or -not (Test-NetworkRange $network $Step['subnet'])) {
        $ranges = @(Get-NetworkSubnet $network | ForEach-Object { $_.AddressPrefix }) -join ', '
        return 'overlay-missing', "HNS network $name is $($network.Type) of $ranges, not Overlay of $($Step['subnet'])"
    }
    foreach ($problem in (Get-SubnetFileProblem $Step), (Get-AddressProblem $Run $Step['address'])) {
        if ($problem) { return 'overlay-missing', $problem }
    }
}

# .SYNOPSIS
# Return whether flanneld has set up its network and the machine's address is back. If this run started flanneld, the
# network is new.
function Test-OverlayNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    if (Get-OverlayProblem $Run $Step) { return $false }
    if ($Run.Started[$Step['service']]) { $Run.Switched = [Diagnostics.Stopwatch]::StartNew() }
    $true
}

# .SYNOPSIS
# Return why a restart of HNS may let flanneld make its network, as text; nothing if HNS lists a network. A network can
# be gone from the list while its name is still taken (microsoft/hcsshim#850). A virtual switch can be left that has the
# machine's address: flanneld would name its adapter to HNS, which refuses it with 0x57 (flannel-io/flannel#1966,
# antrea-io/antrea#2213, Azure/azure-container-networking network/network_windows.go).
function Get-HnsDoubt {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    if (Send-HnsRequest 'GET' 'networks' | Where-Object { $_.Type -notin 'NAT', 'ICS' }) { return }
    $adapter = if (-not (Get-AddressProblem $Run $Step['address'])) { Get-RouteAdapter $Run }
    if ($adapter -like 'vEthernet*') { "$adapter has the machine's address, but HNS has no network on it" }
    else { "flanneld made no network in $($FlannelStarts - 1) starts, and HNS lists none" }
}

# .SYNOPSIS
# Start flanneld anew. Before its last start restart HNS if it lists no network. The step's time stands still.
function Restart-Flanneld {
    [CmdletBinding()]
    param([hashtable] $Run, $Step, [int] $Start)
    $own = New-TimedRun $Run $FlannelSeconds
    $Run.Watch.Stop()
    try {
        Stop-PlannedService $own $Step['service']
        $doubt = if ($Start -eq $FlannelStarts) { Get-HnsDoubt $Run $Step }
        if ($doubt) { [void](Restart-Hns $own $doubt) }
        Start-PlannedService $own $Step['service']
    }
    finally { $Run.Watch.Start() }
}

# .SYNOPSIS
# Return whether this run started HNS later than flanneld: HNS has lost the network that flanneld made or waits for.
function Test-HnsNewer {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $hns, $own = $Run.Started['hns'], $Run.Started[$Step['service']]
    [bool] ($hns -and (-not $own -or $hns.Elapsed -lt $own.Elapsed))
}

# .SYNOPSIS
# Start flanneld if it is stopped, then poll; restart a flanneld that hangs, after equal parts of the timeout (OPS-05),
# and one that ran before HNS was restarted, at once.
function Set-OverlayNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ((Get-ServiceState $Step['service']) -eq 'Stopped') {
        Start-PlannedService (New-TimedRun $Run $FlannelSeconds) $Step['service']
    }
    foreach ($start in 1..$FlannelStarts) {
        if ($start -gt 1) {
            Write-Said $Run "$($problem[1]): $($Step['service']) is started anew"
            Restart-Flanneld $Run $Step $start
        }
        do {
            $problem = Get-OverlayProblem $Run $Step
            if (-not $problem) { return }
            if (Test-HnsNewer $Run $Step) { Restart-Flanneld $Run $Step $start }
            Wait-Poll $Run
        } while ($Run.Watch.Elapsed.TotalSeconds -lt $Run.Limit * $start / $FlannelStarts)
    }
    throw (New-Failure $problem[0] "$($problem[1]), after $FlannelStarts starts of $($Step['service'])")
}
