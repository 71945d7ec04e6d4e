# Networks of HNS in both modes: created, checked, dumped and removed again.

$MostSeconds = 90    # until an address is back, or a removed network is gone

# .SYNOPSIS
# Return the seconds until a block returns $true; throw after MostSeconds.
function Wait-Until {
    [CmdletBinding()]
    param([scriptblock] $Block, [string] $What)
    $watch = [Diagnostics.Stopwatch]::StartNew()
    while (-not (& $Block)) {
        if ($watch.Elapsed.TotalSeconds -gt $MostSeconds) { throw "$What not within $MostSeconds s" }
        Start-Sleep -Milliseconds 500
    }
    [int] $watch.Elapsed.TotalSeconds
}

# .SYNOPSIS
# Create the network of a mode: l2bridge by the plan's kind of step, overlay by the request that flanneld sends, because
# flanneld itself needs a cluster.
function New-ContactNetwork {
    [CmdletBinding()]
    param([hashtable] $Run, $Planned, [string] $Mode)
    if ($Mode -eq 'l2bridge') { return Invoke-Once $Run $Planned['step'] }
    [void](Send-HnsRequest 'POST' 'networks' -Body $Planned['body'])
    'set'
}

# .SYNOPSIS
# Check the data of the network that the scripts read: type, range, adapters, the machine's address and routes.
function Test-MadeNetwork {
    [CmdletBinding()]
    param([hashtable] $Run, $Planned, [string] $Mode, [string] $Address)
    Invoke-Check "$Mode network: address and default route are back; seconds" '\d+' -Like {
        Wait-Until { -not (Get-AddressProblem $Run $Address) } "$Address or the default route came back"
    }
    Invoke-Check "$Mode network: HNS lists it with its type and range" "$Mode $($Planned['subnet'])" {
        $network = Get-HnsObject 'networks' $Planned['name']
        '{0} {1}' -f "$($network.Type)".ToLowerInvariant(), @($network.Subnets)[0].AddressPrefix
    }
    Invoke-Check "$Mode network: management address is the machine's" $Address {
        (Get-HnsObject 'networks' $Planned['name']).ManagementIP
    }
    Invoke-Check "$Mode network: an adapter vEthernet is there" 'True' {
        @(Get-NetAdapter | Where-Object { $_.Name -like 'vEthernet (*' }).Count -gt 0
    }
    Invoke-Check "$Mode network: the machine's own address is the same" $Address { Get-OwnAddress $Run }
    Invoke-Check "$Mode network: one default route" '1' {
        @(Get-NetRoute -DestinationPrefix '0.0.0.0/0' -ErrorAction Ignore).Count
    }
    Invoke-Check "$Mode network: the metadata service answers" '\S+' -Like { Get-Instance }
    if ($Mode -eq 'l2bridge') {
        Invoke-Check 'l2bridge network: the step holds when asked again' 'True' {
            Test-HnsNetworkStep $Run $Planned['step']
        }
    }
}

# .SYNOPSIS
# Create an endpoint as for a pod, with the policies of the planned CNI file; check that HNS keeps each policy.
function Test-PodEndpoint {
    [CmdletBinding()]
    param([hashtable] $Run, $Planned, [string] $Mode)
    $policies = Resolve-Reference $Run $Planned['policies']
    $types = @($policies | ForEach-Object { $_['Type'] } | Sort-Object) -join ' '
    Invoke-Check "$Mode endpoint of a pod: HNS keeps its policies" $types {
        $body = @{
            Name = 'first-contact-pod'; VirtualNetwork = (Get-HnsObject 'networks' $Planned['name']).ID
            IPAddress = Get-RangeAddress $Planned['subnet'] 10; Policies = $policies
        }
        [void](Send-HnsRequest 'POST' 'endpoints' -Body $body)
        # HNS adds policies of its own, such as L2Driver
        $kept = @((Get-HnsObject 'endpoints' 'first-contact-pod').Policies | ForEach-Object { $_.Type })
        $added = @($kept | Where-Object { $_ -notin @($policies | ForEach-Object { $_['Type'] }) })
        @($kept | Where-Object { $_ -notin $added } | Sort-Object) -join ' '
    }
}

# .SYNOPSIS
# Remove network and endpoint; check that HNS no longer lists them and that the machine is as before.
function Remove-ContactNetwork {
    [CmdletBinding()]
    param([hashtable] $Run, $Planned, [string] $Mode, [string] $Address)
    Invoke-Check "$Mode network: removed, and gone from HNS's list; seconds" '\d+' -Like {
        foreach ($name in @($Planned['endpoints'])) {
            $endpoint = Get-HnsObject 'endpoints' $name
            if ($endpoint) { [void](Send-HnsRequest 'DELETE' 'endpoints' -Id $endpoint.ID) }
        }
        $network = Get-HnsObject 'networks' $Planned['name']
        if ($network) { [void](Send-HnsRequest 'DELETE' 'networks' -Id $network.ID) }
        Get-NetRoute -DestinationPrefix $Planned['subnet'] -ErrorAction Ignore | Remove-NetRoute -Confirm:$false
        Wait-Until { -not (Get-HnsObject 'networks' $Planned['name']) } 'the removed network was gone'
    }
    Invoke-Check "$Mode network: after its removal the address and the default route are back; seconds" '\d+' -Like {
        Wait-Until { -not (Get-AddressProblem $Run $Address) } "$Address or the default route came back"
    }
}

# .SYNOPSIS
# Create, check, dump and remove the network of a mode; do nothing on a machine that has other networks.
function Test-ContactNetwork {
    [CmdletBinding()]
    param([hashtable] $Run, $Wanted, [string] $Mode)
    $planned = $Wanted['networks'][$Mode]
    $Run.Told.machine['pod_cidr'] = $planned['subnet']    # routes and addresses of this range are not the machine's
    try {
        $others = @(Send-HnsRequest 'GET' 'networks' | Where-Object { $_.Type -ne 'NAT' })
        $names = @($others | ForEach-Object { $_.Name } | Where-Object { $_ -ne $planned['name'] }) -join ', '
    }
    catch { return Add-Row "$Mode network" 'HNS lists its networks' (Get-FailureText $_.Exception) $false }
    if ($names) { return Add-Row "$Mode network" 'tried' "not tried: this machine has the network $names" $false }
    $address = try { Get-OwnAddress $Run } catch { '' }
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $Run.Watch.Restart()
    $Run.Limit = 300
    try { $said = New-ContactNetwork $Run $planned $Mode } catch { $said = Get-FailureText $_.Exception }
    Add-Row "$Mode network: made" 'set' $said ($said -in 'set', 'held') $watch.Elapsed.TotalSeconds
    try {
        if ($said -in 'set', 'held') {
            Test-MadeNetwork $Run $planned $Mode $address
            Test-PodEndpoint $Run $planned $Mode
        }
        Write-Dumps $Mode $OfNetworks
    }
    finally { Remove-ContactNetwork $Run $planned $Mode $address }
    Save-Progress
}
