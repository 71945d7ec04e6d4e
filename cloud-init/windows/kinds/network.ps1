# Addresses, the host's firewall, the metadata route, the source VIP of kube-proxy.

$SubnetFile = 'C:\run\flannel\subnet.env'
$Holder = 'kube-proxy'    # who holds the source VIP, in host-local's books

# .SYNOPSIS
# The address that packets to the metadata service would leave from; nothing is sent.
function Get-OwnAddress {
    [CmdletBinding()]
    param()
    $probe = [Net.Sockets.Socket]::new('InterNetwork', 'Dgram', 'Udp')
    try {
        $probe.Connect('169.254.169.254', 80)
        $probe.LocalEndPoint.Address.ToString()
    }
    catch [Net.Sockets.SocketException] { throw (New-Failure 'network-missing' "no address: $($_.Exception.Message)") }
    finally { $probe.Dispose() }
}

# .SYNOPSIS
# The machine's name in its cloud, as Kubernetes writes it.
function Get-ProviderId {
    [CmdletBinding()]
    param()
    $zone = Get-Metadata '/latest/meta-data/placement/availability-zone'
    "aws:///$zone/$(Get-Metadata '/latest/meta-data/instance-id')"
}

# .SYNOPSIS
# The pod range of this node. flanneld names the subnet by its gateway (10.244.3.1/24); a range starts with its network.
function Get-PodSubnet {
    [CmdletBinding()]
    param()
    $text = if ([IO.File]::Exists($SubnetFile)) { [IO.File]::ReadAllText($SubnetFile) } else { '' }
    if ($text -notmatch '(?m)^FLANNEL_SUBNET=([0-9.]+)/(\d+)') {
        throw (New-Failure 'network-missing' "$SubnetFile has no FLANNEL_SUBNET")
    }
    Get-Network $Matches[1] ([int] $Matches[2])
}

# .SYNOPSIS
# The network of an address, as <address>/<bits>.
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
# A range as the plan writes it: Windows shows 10.20.0.0/16 as 10.20.0.0/255.255.0.0, and one address without bits.
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
# Whether the rule lets in just what the step says.
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
    $ports.Protocol -eq $Step['protocol'] -and @($ports.LocalPort) -join ',' -eq $Step['ports'] -join ',' -and
    $from -join ',' -eq $sources -join ','
}

# .SYNOPSIS
# Makes the rule anew.
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
# The default route: HNS moves the address to a new interface, and routes stay behind on the old.
function Get-DefaultRoute {
    [CmdletBinding()]
    param()
    $routes = @(Get-NetRoute -DestinationPrefix '0.0.0.0/0' -ErrorAction Ignore |
            Sort-Object { $_.RouteMetric + $_.InterfaceMetric })
    if (-not $routes) { throw (New-Failure 'network-missing' 'the machine has no default route') }
    $routes[0]
}

# .SYNOPSIS
# Whether the metadata address has one route, through the interface of the default route.
function Test-MetadataRouteStep {
    [CmdletBinding()]
    param($Run, $Step)
    $route = Get-DefaultRoute
    $found = @(Get-NetRoute -DestinationPrefix "$($Step['address'])/32" -ErrorAction Ignore)
    $found.Count -eq 1 -and $found[0].InterfaceIndex -eq $route.InterfaceIndex -and $found[0].NextHop -eq $route.NextHop
}

# .SYNOPSIS
# Makes the route anew; a boot loses it.
function Set-MetadataRouteStep {
    [CmdletBinding()]
    param($Run, $Step)
    $prefix, $route = "$($Step['address'])/32", (Get-DefaultRoute)
    Get-NetRoute -DestinationPrefix $prefix -ErrorAction Ignore | Remove-NetRoute -Confirm:$false
    $new = @{ DestinationPrefix = $prefix; InterfaceIndex = $route.InterfaceIndex; NextHop = $route.NextHop }
    [void](New-NetRoute @new -PolicyStore ActiveStore)
}

# .SYNOPSIS
# The address that host-local holds for us, or nothing. It keeps a file per address that starts with the holder.
function Get-HeldAddress {
    [CmdletBinding()]
    param($Step)
    $folder = "$($Step['data_directory'])\$($Step['network'])"
    if (-not [IO.Directory]::Exists($folder)) { return }
    foreach ($file in [IO.Directory]::GetFiles($folder)) {
        $name = [IO.Path]::GetFileName($file)
        if ($name -match '^[0-9.]+$' -and @([IO.File]::ReadAllLines($file))[0] -eq $Holder) { return $name }
    }
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
# Whether an address of the node's present subnet is held; one of an earlier subnet does not count.
function Test-SourceVipStep {
    [CmdletBinding()]
    param($Run, $Step)
    $subnet, $held = (Get-Reference $Run 'node.pod_subnet'), (Get-HeldAddress $Step)
    if (-not $held -or (Get-Network $held ([int] $subnet.Split('/')[1])) -ne $subnet) { return $false }
    $Run.Found['source_vip'] = $held
    $true
}

# .SYNOPSIS
# Releases an address of an earlier subnet, then reserves one.
function Set-SourceVipStep {
    [CmdletBinding()]
    param($Run, $Step)
    $subnet, $held = (Get-Reference $Run 'node.pod_subnet'), (Get-HeldAddress $Step)
    if ($held) { Invoke-HostLocal $Run $Step 'DEL' (Get-Network $held ([int] $subnet.Split('/')[1])) }
    Invoke-HostLocal $Run $Step 'ADD' $subnet
}
