# What flanneld makes: the overlay network of HNS, and the file that flannel's CNI plug-in reads.

$FlannelStarts = 3    # at most so many starts of flanneld in the time of the step

# .SYNOPSIS
# The first value in flanneld's file that is not this node's, as text; nothing when all are (OPS-06).
function Get-SubnetFileProblem {
    [CmdletBinding()]
    param($Step)
    $path = $Step['subnet_file']
    if (-not [IO.File]::Exists($path)) { return "$path is not there" }
    $values = @{}
    foreach ($line in [IO.File]::ReadAllLines($path)) {
        $values[$line.Split('=')[0]] = $line.Substring($line.IndexOf('=') + 1)
    }
    # The MTU is that of the adapter that flanneld found, less 50 bytes of VXLAN: a virtual adapter may have another.
    $rows = @(
        , @('FLANNEL_NETWORK', [regex]::Escape($Step['pods']))
        , @('FLANNEL_SUBNET', '[0-9.]+/\d+')
        , @('FLANNEL_MTU', '\d+')
        , @('FLANNEL_IPMASQ', 'true')
    )
    foreach ($row in $rows) {
        if ("$($values[$row[0]])" -notmatch "\A$($row[1])\z") { return "$path has $($row[0])=$($values[$row[0]])" }
    }
    $range = Get-FlannelRange $path
    if ($range -ne $Step['subnet']) { "$path has the range $range, the Node object $($Step['subnet'])" }
}

# .SYNOPSIS
# What is not there yet, as error and text; nothing when all is.
function Get-OverlayProblem {
    [CmdletBinding()]
    param($Step)
    $name = $Step['network']
    $network = Get-HnsObject 'networks' $name
    $adapters = @(Get-NetAdapter | ForEach-Object { $_.Name })
    if (-not ($adapters -like 'vEthernet (*')) {
        return 'adapter-missing', "no virtual network: there is no adapter vEthernet, only $($adapters -join ', ')"
    }
    if (-not $network) { return 'overlay-missing', "HNS has no network $name" }
    if ($network.Type -ne 'Overlay' -or -not (Test-NetworkRange $network $Step['subnet'])) {
        $ranges = @($network.Subnets | ForEach-Object { $_.AddressPrefix }) -join ', '
        return 'overlay-missing', "HNS network $name is $($network.Type) of $ranges, not Overlay of $($Step['subnet'])"
    }
    foreach ($problem in (Get-SubnetFileProblem $Step), (Get-AddressProblem $Step['address'])) {
        if ($problem) { return 'overlay-missing', $problem }
    }
}

# .SYNOPSIS
# Whether flanneld is done and the machine's address is back.
function Test-OverlayNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    -not (Get-OverlayProblem $Step)
}

# .SYNOPSIS
# Looks again and again; a flanneld that hangs is started anew, each time after an equal part of the time (OPS-05).
function Set-OverlayNetworkStep {
    [CmdletBinding()]
    param($Run, $Step)
    $looks = [Math]::Max(1, [int] ($Run.Limit / $PollSeconds / $FlannelStarts))
    foreach ($start in 1..$FlannelStarts) {
        if ($start -gt 1) {
            Write-Said $Run "$($problem[1]): $($Step['service']) is started anew"
            Stop-PlannedService $Run $Step['service']
            Start-PlannedService $Run $Step['service']
        }
        foreach ($look in 1..$looks) {
            $problem = Get-OverlayProblem $Step
            if (-not $problem) { return }
            Start-Sleep -Seconds $PollSeconds
        }
    }
    throw (New-Failure $problem[0] "$($problem[1]), after $FlannelStarts starts of $($Step['service'])")
}
