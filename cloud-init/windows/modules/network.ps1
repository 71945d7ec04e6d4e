# Addresses, the host's firewall, the metadata route, the source VIP of kube-proxy.

$SubnetFile = 'C:\run\flannel\subnet.env'
$Holder = 'kube-proxy'    # who holds the source VIP, in host-local's books

# The address that packets to the metadata service would leave from; nothing is sent.
function Get-OwnAddress {
    [CmdletBinding()]
    param()
    $probe = New-Object Net.Sockets.Socket 'InterNetwork', 'Dgram', 'Udp'
    try {
        $probe.Connect('169.254.169.254', 80)
        $probe.LocalEndPoint.Address.ToString()
    }
    finally { $probe.Dispose() }
}

function Get-ProviderId {
    [CmdletBinding()]
    param()
    $zone = Get-Metadata '/latest/meta-data/placement/availability-zone'
    "aws:///$zone/$(Get-Metadata '/latest/meta-data/instance-id')"
}

# flanneld names the subnet by its gateway (10.244.3.1/24); a range starts with its network.
function Get-PodSubnet {
    [CmdletBinding()]
    param()
    $text = if ([IO.File]::Exists($SubnetFile)) { [IO.File]::ReadAllText($SubnetFile) } else { '' }
    if ($text -notmatch '(?m)^FLANNEL_SUBNET=([0-9.]+)/(\d+)') {
        throw (New-Failure 'network-missing' "$SubnetFile has no FLANNEL_SUBNET")
    }
    Get-Network $Matches[1] ([int] $Matches[2])
}

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

# What the rule must be, as its description: Windows rewrites ranges, so they do not compare.
function Get-RuleText {
    [CmdletBinding()]
    param($Step)
    'mullion {0} {1} from {2}' -f $Step['protocol'], $Step['ports'], (@($Step['sources']) -join ',')
}

function Test-FirewallRuleStep {
    [CmdletBinding()]
    param($Run, $Step)
    $rule = Get-NetFirewallRule -Name $Step['rule'] -ErrorAction Ignore
    if (-not $rule -or "$($rule.Enabled)" -ne 'True' -or "$($rule.Action)" -ne 'Allow') { return $false }
    $ports = @(($rule | Get-NetFirewallPortFilter).LocalPort)
    $rule.Description -ceq (Get-RuleText $Step) -and ($ports -join ',') -eq $Step['ports']
}

function Set-FirewallRuleStep {
    [CmdletBinding()]
    param($Run, $Step)
    $name = $Step['rule']
    Remove-NetFirewallRule -Name $name -ErrorAction Ignore
    $rule = @{
        Name = $name; DisplayName = $name; Description = Get-RuleText $Step
        Direction = 'Inbound'; Action = 'Allow'; Protocol = $Step['protocol'].ToUpperInvariant()
        LocalPort = $Step['ports'].Split(',')
    }
    if ($Step['sources']) { $rule['RemoteAddress'] = [string[]] @($Step['sources']) }
    [void](New-NetFirewallRule @rule)
}

# The default route's interface: HNS moves the address to a new one, and routes stay behind on the old.
function Get-DefaultRoute {
    [CmdletBinding()]
    param()
    $routes = @(Get-NetRoute -DestinationPrefix '0.0.0.0/0' -ErrorAction Ignore |
            Sort-Object { $_.RouteMetric + $_.InterfaceMetric })
    if (-not $routes) { throw (New-Failure 'network-missing' 'the machine has no default route') }
    $routes[0]
}

function Test-MetadataRouteStep {
    [CmdletBinding()]
    param($Run, $Step)
    $route = Get-DefaultRoute
    $found = @(Get-NetRoute -DestinationPrefix "$($Step['address'])/32" -ErrorAction Ignore)
    $found.Count -eq 1 -and $found[0].InterfaceIndex -eq $route.InterfaceIndex -and $found[0].NextHop -eq $route.NextHop
}

function Set-MetadataRouteStep {
    [CmdletBinding()]
    param($Run, $Step)
    $prefix, $route = "$($Step['address'])/32", (Get-DefaultRoute)
    Get-NetRoute -DestinationPrefix $prefix -ErrorAction Ignore | Remove-NetRoute -Confirm:$false
    $new = @{ DestinationPrefix = $prefix; InterfaceIndex = $route.InterfaceIndex; NextHop = $route.NextHop }
    [void](New-NetRoute @new -PolicyStore ActiveStore)
}

# host-local keeps a file per address, named so, that starts with the holder: the address it holds for us, or nothing.
function Get-HeldAddress {
    [CmdletBinding()]
    param($Step)
    $folder = "$($Step['data_directory'])\$($Step['network'])"
    if (-not [IO.Directory]::Exists($folder)) { return }
    foreach ($file in [IO.Directory]::GetFiles($folder)) {
        $name = Split-Path $file -Leaf
        if ($name -match '^[0-9.]+$' -and @([IO.File]::ReadAllLines($file))[0] -eq $Holder) { return $name }
    }
}

function Invoke-HostLocal {
    [CmdletBinding()]
    param($Step, [string] $Verb, [string] $Subnet)
    $books = @{ type = 'host-local'; dataDir = $Step['data_directory']; ranges = @(, @(@{ subnet = $Subnet })) }
    $program = @{
        Program = $Step['plugin']
        InputText = ConvertTo-JsonText @{ cniVersion = '1.0.0'; name = $Step['network']; ipam = $books }
        Environment = @{
            CNI_COMMAND = $Verb; CNI_CONTAINERID = $Holder; CNI_NETNS = $Holder
            CNI_IFNAME = 'source-vip'; CNI_PATH = Split-Path $Step['plugin']
        }
    }
    [void](Invoke-Program @program)
}

# An address of the node's present subnet is held; another one, of an earlier subnet, does not count.
function Test-SourceVipStep {
    [CmdletBinding()]
    param($Run, $Step)
    $subnet, $held = (Get-Reference $Run 'node.pod_subnet'), (Get-HeldAddress $Step)
    if (-not $held -or (Get-Network $held ([int] $subnet.Split('/')[1])) -ne $subnet) { return $false }
    $Run.Found['source_vip'] = $held
    $true
}

function Set-SourceVipStep {
    [CmdletBinding()]
    param($Run, $Step)
    $subnet, $held = (Get-Reference $Run 'node.pod_subnet'), (Get-HeldAddress $Step)
    if ($held) { Invoke-HostLocal $Step 'DEL' (Get-Network $held ([int] $subnet.Split('/')[1])) }
    Invoke-HostLocal $Step 'ADD' $subnet
}
