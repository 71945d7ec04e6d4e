# The machine's address, the host's firewall, dynamic ports, and the metadata route.

# .SYNOPSIS
# Return whether the address is in this machine's pod range, which HNS endpoints have. With overlay the machine part
# of machine.json has no range, and the host has no endpoint.
function Test-PodAddress {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Address)
    $machine = $Run.Told['machine']
    [bool] ($machine -and $machine['pod_cidr'] -and (Test-InRange $Address $machine['pod_cidr']))
}

# .SYNOPSIS
# Return the IPv4 address on the interface of the default route: the planned one, else the first. Addresses that
# Windows gave itself (169.254.0.0/16), of pods, or not usable yet (Tentative) are none.
function Get-OwnAddress {
    [CmdletBinding()]
    param([hashtable] $Run)
    $index = (Get-DefaultRoute $Run).InterfaceIndex
    $all = @(Find-NetObject { Get-NetIPAddress -InterfaceIndex $index -AddressFamily IPv4 -ErrorAction Stop })
    $usable = @($all | Where-Object {
            "$($_.AddressState)" -eq 'Preferred' -and $_.IPAddress -notlike '169.254.*' -and
            -not (Test-PodAddress $Run $_.IPAddress)
        } | ForEach-Object { $_.IPAddress })
    if (-not $usable) {
        $seen = @($all | ForEach-Object { "$($_.IPAddress) is $($_.AddressState)" }) -join ', '
        throw (New-Failure 'network-missing' "interface $index of the default route has no usable address: $seen")
    }
    $machine = $Run.Told['machine']
    if ($machine -and $machine['address'] -in $usable) { $machine['address'] } else { $usable[0] }
}

# .SYNOPSIS
# Return the network of an address as <address>/<bits>.
function Get-Network {
    [CmdletBinding()]
    param([string] $Address, [int] $Bits)
    $octets = ([Net.IPAddress] $Address).GetAddressBytes()
    for ($place = 0; $place -lt 4; $place++) {
        $kept = [Math]::Max(0, [Math]::Min(8, $Bits - 8 * $place))
        $octets[$place] = $octets[$place] -band (0xFF00 -shr $kept) -band 0xFF
    }
    '{0}/{1}' -f ($octets -join '.'), $Bits
}

# .SYNOPSIS
# Return a range in CIDR notation: Windows shows 10.20.0.0/16 as 10.20.0.0/255.255.0.0, and one address without bits.
function ConvertTo-Range {
    [CmdletBinding()]
    param([string] $Text)
    if ($Text -match '^([0-9.]+)/([0-9]+\.[0-9.]+)$') {
        $bits = 0
        foreach ($octet in ([Net.IPAddress] $Matches[2]).GetAddressBytes()) {
            $bits += [Convert]::ToString($octet, 2).Replace('0', '').Length
        }
        $Text = "$($Matches[1])/$bits"
    }
    $Text -replace '/32$'
}

# .SYNOPSIS
# Return whether the rule allows exactly the protocol, ports and sources of the step.
function Test-FirewallRuleStep {
    [CmdletBinding()]
    param($Run, $Step)
    $rule = Get-NetFirewallRule -Name $Step['rule'] -ErrorAction Ignore
    if (-not $rule -or "$($rule.Enabled)" -ne 'True' -or "$($rule.Action)" -ne 'Allow') { return $false }
    if ("$($rule.Direction)" -ne 'Inbound') { return $false }
    $ports = $rule | Get-NetFirewallPortFilter
    $from = ($rule | Get-NetFirewallAddressFilter).RemoteAddress
    $from = @($from | ForEach-Object { ConvertTo-Range $_ } | Sort-Object)
    $sources = @($Step['sources'] | Where-Object { $_ } | ForEach-Object { ConvertTo-Range $_ } | Sort-Object)
    if (-not $sources) { $sources = @('Any') }
    $ports.Protocol -eq $Step['protocol'] -and (@($ports.LocalPort) -join ',') -eq ($Step['ports'] -join ',') -and
    ($from -join ',') -eq ($sources -join ',')
}

# .SYNOPSIS
# Replace the rule.
function Set-FirewallRuleStep {
    [CmdletBinding()]
    param($Run, $Step)
    $name = $Step['rule']
    Remove-NetFirewallRule -Name $name -ErrorAction Ignore
    $rule = @{
        Name = $name; DisplayName = $name; Direction = 'Inbound'; Action = 'Allow'
        Protocol = $Step['protocol'].ToUpperInvariant(); LocalPort = [string[]] $Step['ports']
    }
    if ($Step['sources']) { $rule['RemoteAddress'] = [string[]] $Step['sources'] }
    [void](New-NetFirewallRule @rule)
}

# .SYNOPSIS
# Return the default route. HNS moves the address to a new interface, and other routes stay on the old one. An endpoint
# of the host can add a default route through the pod range's gateway, which leads nowhere (flannel issue 1763). Of
# several interfaces with a gateway, the one with the planned address counts; then the lowest metric, then the lowest
# index: Sort-Object of Windows PowerShell returns equal ones in any order.
function Get-DefaultRoute {
    [CmdletBinding()]
    param([hashtable] $Run)
    $routes = @(Find-NetObject { Get-NetRoute -DestinationPrefix '0.0.0.0/0' -ErrorAction Stop } |
            Where-Object { -not (Test-PodAddress $Run $_.NextHop) } |
            Sort-Object { $_.RouteMetric + $_.InterfaceMetric }, InterfaceIndex, NextHop)
    if (-not $routes) { throw (New-Failure 'network-missing' 'the machine has no default route') }
    $machine = $Run.Told['machine']
    if ($routes.Count -eq 1 -or -not $machine -or -not $machine['address']) { return $routes[0] }
    $own = @(Find-NetObject { Get-NetIPAddress -AddressFamily IPv4 -ErrorAction Stop } |
            Where-Object { $_.IPAddress -eq $machine['address'] } | ForEach-Object { $_.InterfaceIndex })
    @(@($routes | Where-Object { $_.InterfaceIndex -in $own }) + $routes)[0]
}

# .SYNOPSIS
# Return the addresses without a route, or with one that leaves the interface or gateway of the default route. A route
# to the link itself is right: Google's images and guest agent set one (GCEWindowsAgent, route /p add ... 0.0.0.0).
function Get-Unrouted {
    [CmdletBinding()]
    param($Step, $Route)
    foreach ($address in $Step['addresses']) {
        $found = @(Find-NetObject { Get-NetRoute -DestinationPrefix "$address/32" -ErrorAction Stop })
        $wrong = $found | Where-Object {
            $_.InterfaceIndex -ne $Route.InterfaceIndex -or $_.NextHop -notin $Route.NextHop, '0.0.0.0'
        }
        if ($wrong -or -not $found.Count) { $address }
    }
}

# .SYNOPSIS
# Return the seconds for which the routes must still be watched: until hold_seconds after this run saw a new network.
# HNS can remove the routes that late (kube-up's GCE scripts wait 45 s for the loss).
function Get-HoldSecond {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    if (-not $Step['hold_seconds'] -or -not $Run.Switched) { return 0 }
    [int] [Math]::Max(0, [Math]::Ceiling($Step['hold_seconds'] - $Run.Switched.Elapsed.TotalSeconds))
}

# .SYNOPSIS
# Return whether all addresses are routed through the interface of the default route, and need no more watching. From
# now on the run sets lost routes to them again while it waits.
function Test-MetadataRouteStep {
    [CmdletBinding()]
    param($Run, $Step)
    $Run.Routed = @{ addresses = $Step['addresses']; said = '' }
    -not (Get-Unrouted $Step (Get-DefaultRoute $Run)) -and -not (Get-HoldSecond $Run $Step)
}

# .SYNOPSIS
# Replace missing and wrong routes in the active store, which a boot empties.
function Set-CloudRoute {
    [CmdletBinding()]
    param([hashtable] $Run, $Step)
    $route = Get-DefaultRoute $Run
    foreach ($address in @(Get-Unrouted $Step $route)) {
        $prefix = "$address/32"
        Find-NetObject { Get-NetRoute -DestinationPrefix $prefix -ErrorAction Stop } | Remove-NetRoute -Confirm:$false
        $new = @{ DestinationPrefix = $prefix; InterfaceIndex = $route.InterfaceIndex; NextHop = $route.NextHop }
        [void](New-NetRoute @new -PolicyStore ActiveStore)
        Write-Said $Run "the route to $address through interface $($route.InterfaceIndex) is set"
    }
}

# .SYNOPSIS
# Replace the routes; with hold_seconds, replace lost ones until then.
function Set-MetadataRouteStep {
    [CmdletBinding()]
    param($Run, $Step)
    for (; ; ) {
        Set-CloudRoute $Run $Step
        if (-not (Get-HoldSecond $Run $Step)) { return }
        Start-Sleep -Seconds $PollSeconds
    }
}

# .SYNOPSIS
# Set lost routes of the last metadata-route step again. HNS removes routes up to 45 s after it made a network (kube-up,
# k8s-node-setup.psm1), and the next try may need them: for a token, a secret, or on GCP the name of the API. Say why it
# fails once, not at each look.
function Repair-MetadataRoute {
    [CmdletBinding()]
    param([hashtable] $Run)
    if (-not $Run.Routed) { return }
    $why = ''
    try { Set-CloudRoute $Run $Run.Routed } catch { $why = $_.Exception.GetBaseException().Message }
    if ($why -and $why -ne $Run.Routed.said) { Write-Said $Run "routes to the cloud's services: $why" }
    $Run.Routed.said = $why
}

# .SYNOPSIS
# Wait between two looks at a condition, then set lost routes again.
function Wait-Poll {
    [CmdletBinding()]
    param([hashtable] $Run)
    Start-Sleep -Seconds $PollSeconds
    Repair-MetadataRoute $Run
}

# .SYNOPSIS
# Return start and count of the dynamic ports.
function Get-PortRange {
    [CmdletBinding()]
    param([string] $Protocol)
    # netsh's text is localized; the two numbers are not.
    $shown = & netsh.exe int ipv4 show dynamicportrange $Protocol | Out-String
    @([regex]::Matches($shown, ':\s*(\d+)') | ForEach-Object { [int] $_.Groups[1].Value })
}

# .SYNOPSIS
# Return whether the dynamic ports have the start and count.
function Test-PortRangeStep {
    [CmdletBinding()]
    param($Run, $Step)
    ((Get-PortRange $Step['protocol']) -join ' ') -eq "$($Step['start']) $($Step['count'])"
}

# .SYNOPSIS
# Set start and count of the dynamic ports.
function Set-PortRangeStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ($Step['start'] + $Step['count'] -gt 65536) {
        throw (New-Failure 'step-invalid' "$($Step['count']) ports from $($Step['start']) go beyond 65535")
    }
    $words = $Step['protocol'], "start=$($Step['start'])", "num=$($Step['count'])"
    $said = & netsh.exe int ipv4 set dynamicportrange @words
    if ($LASTEXITCODE) { throw (New-Failure 'command-failed' "netsh: $said") }
}

# .SYNOPSIS
# Return whether the firewall is on in all profiles and blocks inbound traffic by default.
function Test-FirewallProfilesStep {
    [CmdletBinding()]
    param($Run, $Step)
    $open = @(Get-NetFirewallProfile | Where-Object {
            "$($_.Enabled)" -ne 'True' -or "$($_.DefaultInboundAction)" -eq 'Allow' })
    $open.Count -eq 0
}

# .SYNOPSIS
# Switch the firewall on in all profiles and block inbound traffic by default.
function Set-FirewallProfilesStep {
    [CmdletBinding()]
    param($Run, $Step)
    Set-NetFirewallProfile -Profile 'Domain', 'Private', 'Public' -Enabled 'True' -DefaultInboundAction 'Block'
}
