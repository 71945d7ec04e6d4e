# Requests to the Host Networking Service (HNS), and removal of its objects.

# .SYNOPSIS
# Return the type with HNS's function: HNSCall(method, path, request) returns JSON text.
function Get-HnsType {
    [CmdletBinding()]
    param()
    if ($script:HnsType) { return $script:HnsType }
    $words = [string], [string], [string], [string].MakeByRefType()
    $script:HnsType = New-NativeType 'Mullion.Hns' 'vmcompute.dll' @{ HNSCall = [int], $words }
    $script:HnsType
}
$HnsType = $null
$HnsCaller = $null
$PortSeconds = 60
# ConvertFrom-Json of Windows PowerShell takes at most 2,097,152 characters (JavaScriptSerializer.MaxJsonLength); lists
# of HNS name every Service and every pod of other nodes. The expression matches an object with all that it contains.
$JsonMost = 2000000
$JsonObject = [regex] '\{(?>[^{}"]+|"(?>[^"\\]+|\\.)*"|(?<deep>\{)|(?<-deep>\}))*(?(deep)(?!))\}'
$WmiSeconds = 30    # without a limit a query waits for WMI that hangs
# For one call: HNS can hang and then never answers (Azure/aks-engine#4315), or be slow; the limit is ours. A failure
# with the mark hns-silent tells nothing about what was asked for.
$HnsSeconds = 120

# .SYNOPSIS
# Return a delegate that takes an array of six: it calls HNS with the first three (method, path, request), and sets the
# others to the code, the text and an exception. It needs no runspace: PowerShell would not exit before one whose call
# hangs.
function Get-HnsCaller {
    [CmdletBinding()]
    param()
    if ($script:HnsCaller) { return $script:HnsCaller }
    $told = [Linq.Expressions.Expression]::Parameter([object])
    $array = [Linq.Expressions.Expression]::Convert($told, [object[]])
    $places = foreach ($number in 0..5) {
        [Linq.Expressions.Expression]::ArrayAccess($array, [Linq.Expressions.Expression]::Constant($number))
    }
    $said = [Linq.Expressions.Expression]::Variable([string])
    $words = @($places[0..2] | ForEach-Object { [Linq.Expressions.Expression]::Convert($_, [string]) }) + $said
    $function = (Get-HnsType).GetMethod('HNSCall')
    $call = [Linq.Expressions.Expression]::Call($function, [Linq.Expressions.Expression[]] $words)
    $failure = [Linq.Expressions.Expression]::Variable([Exception])
    $code, $text, $caught = foreach ($pair in @($places[3], $call), @($places[4], $said), @($places[5], $failure)) {
        $any = [Linq.Expressions.Expression]::Convert($pair[1], [object])
        [Linq.Expressions.Expression]::Assign($pair[0], $any)
    }
    $asks = [Linq.Expressions.Expression]::Block([Linq.Expressions.ParameterExpression[]] @($said),
        [Linq.Expressions.Expression[]] @($code, $text))
    $handler = [Linq.Expressions.Expression]::Catch($failure, $caught)
    $whole = [Linq.Expressions.Expression]::TryCatch($asks, [Linq.Expressions.CatchBlock[]] @($handler))
    $takes = [Linq.Expressions.ParameterExpression[]] @($told)
    $lambda = [Linq.Expressions.Expression]::Lambda([Threading.ParameterizedThreadStart], $whole, $takes)
    $script:HnsCaller = $lambda.Compile()
    $script:HnsCaller
}

# .SYNOPSIS
# Call HNS in a thread of its own; return its code and its text. Throw if HNS does not answer within $HnsSeconds: the
# thread stays with the call, which nothing can end.
function Invoke-HnsCall {
    [CmdletBinding()]
    param([string] $Method, [string] $Path, [string] $Data)
    $call = [object[]] ($Method, $Path, $Data, 0, '', $null)
    $thread = [Threading.Thread]::new([Threading.ParameterizedThreadStart] (Get-HnsCaller))
    $thread.IsBackground = $true
    $thread.Start($call)
    if (-not $thread.Join([TimeSpan]::FromSeconds($HnsSeconds))) {
        $why = "HNS does not answer $Method $Path within $HnsSeconds s: restart the service hns, or the machine"
        $failure = New-Failure 'network-missing' $why
        $failure.Data['hns-silent'] = $true
        throw $failure
    }
    if ($call[5]) { throw $call[5] }
    $call[3..4]
}

# .SYNOPSIS
# Return process id and start time of HNS, because Windows reuses process ids. Empty if HNS is stopped; nothing if WMI
# does not answer or the process has just ended, which says nothing about HNS.
function Get-HnsProcess {
    [CmdletBinding()]
    param()
    $wmi = @{ ClassName = 'Win32_Service'; Filter = "Name='hns'"; OperationTimeoutSec = $WmiSeconds }
    $service = Get-CimInstance @wmi -ErrorAction Ignore
    if (-not $service) { return }
    if (-not $service.ProcessId) { return $(if ((Get-ServiceState 'hns') -eq 'Stopped') { '' }) }
    $process = Get-Process -Id $service.ProcessId -ErrorAction Ignore
    if ($process) { '{0} {1:s}' -f $process.Id, $process.StartTime.ToUniversalTime() }
}

# .SYNOPSIS
# Parse an answer of HNS; each object of a list alone if the answer is long.
function ConvertFrom-HnsAnswer {
    [CmdletBinding()]
    param([string] $Text)
    if ($Text.Length -le $JsonMost) { return ConvertFrom-Json $Text }
    $found = $JsonObject.Matches($Text, $Text.IndexOf('[') + 1)
    if (-not $found.Count) { return ConvertFrom-Json $Text }
    $first, $last = $found[0], $found[$found.Count - 1]
    $answer = ConvertFrom-Json $Text.Remove($first.Index, $last.Index + $last.Length - $first.Index)
    $answer.PSObject.Properties['Output'].Value = @($found | ForEach-Object { ConvertFrom-Json $_.Value })
    $answer
}

# .SYNOPSIS
# Send a request to HNS and return its output.
function Send-HnsRequest {
    [CmdletBinding()]
    param([string] $Method, [string] $Type, [string] $Id = '', [string] $Action = '', $Body)
    $data = if ($null -ne $Body) { ConvertTo-JsonText $Body } else { '' }
    $path = '/' + ((@($Type, $Id, $Action) | Where-Object { $_ }) -join '/')
    $code, $said = Invoke-HnsCall $Method $path $data
    $answer = if ($said) { ConvertFrom-HnsAnswer $said }
    if ($code -ne 0 -or ($answer -and -not $answer.Success)) {
        $number = '0x{0:x8}' -f $code
        throw (New-Failure 'network-missing' "HNS refuses $Method $path with ${number}: $said")
    }
    if ($answer -and $answer.PSObject.Properties['Output']) { @($answer.Output) | Where-Object { $null -ne $_ } }
}

# .SYNOPSIS
# Return the network or endpoint with the name, or nothing. HNS shows no name of endpoints that were made without one.
function Get-HnsObject {
    [CmdletBinding()]
    param([string] $Type, [string] $Name)
    Send-HnsRequest 'GET' $Type | Where-Object {
        $_.PSObject.Properties['Name'] -and $_.Name -eq $Name
    } | Select-Object -First 1
}

# .SYNOPSIS
# Remove objects. Those that HNS refuses to remove stay, and are named in the log: on 17763.1554 HNS refuses to remove a
# load balancer whose network is gone (Azure/aks-engine pull request 3956), and that must not end every run. Throw at
# the first request that HNS does not answer, because it would answer none of the others, and once the limit is over.
function Remove-HnsObject {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Type, $Objects)
    $kept = [Collections.ArrayList]::new()
    $why = ''
    foreach ($one in $Objects) {
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            throw (New-Failure 'network-missing' "HNS did not remove all $Type within $($Run.Limit) s")
        }
        try { [void](Send-HnsRequest 'DELETE' $Type -Id $one.ID) }
        catch {
            if ($_.Exception.Data['hns-silent']) { throw }
            [void]$kept.Add($one.ID)
            $why = $_.Exception.GetBaseException().Message
        }
    }
    if ($kept.Count) { Write-Said $Run "HNS keeps $Type $($kept -join ', '): $why" }
}

# .SYNOPSIS
# Remove all load balancers: HNS keeps a network that one of them uses, and kube-proxy creates them again.
function Remove-HnsPolicyList {
    [CmdletBinding()]
    param([hashtable] $Run)
    Remove-HnsObject $Run 'policylists' @(Send-HnsRequest 'GET' 'policylists')
}

# .SYNOPSIS
# Return the endpoints of a network.
function Get-NetworkEndpoint {
    [CmdletBinding()]
    param($Network)
    Send-HnsRequest 'GET' 'endpoints' | Where-Object {
        $_.PSObject.Properties['VirtualNetwork'] -and $_.VirtualNetwork -eq $Network.ID
    }
}

# .SYNOPSIS
# Return the number of port ranges that HNS reserves on the host; 0 if HNS refuses to say. Throw if it does not answer.
function Get-ReservedRangeCount {
    [CmdletBinding()]
    param()
    try { $pools = @(Send-HnsRequest 'GET' 'portpools') }
    catch { if ($_.Exception.Data['hns-silent']) { throw } else { return 0 } }
    $count = 0
    foreach ($pool in $pools) {
        if (-not $pool.PSObject.Properties['PortPoolAllocations']) { continue }
        foreach ($part in @($pool.PortPoolAllocations)) {
            $own = $part.PSObject.Properties['RequiresHostPortReservation'] -and $part.RequiresHostPortReservation
            if ($own -and $part.PSObject.Properties['PortRanges']) { $count += @($part.PortRanges).Count }
        }
    }
    $count
}

# .SYNOPSIS
# Return what HNS still lists of a removed network: the network, or endpoints on its ports; nothing if it lists neither.
function Get-HnsRemnant {
    [CmdletBinding()]
    param($Network)
    if (Send-HnsRequest 'GET' 'networks' | Where-Object { $_.ID -eq $Network.ID }) { return "network $($Network.Name)" }
    Get-NetworkEndpoint $Network | ForEach-Object { "endpoint $($_.ID) of network $($Network.Name)" }
}

# .SYNOPSIS
# Remove a network, and first the load balancers that would keep it, and its endpoints. HNS answers before it has
# removed all of it, and a new network of that name or range would fail until then. Wait at most $PortSeconds for
# reserved ports, because other networks may have some (Azure/AgentBaker, cleanupnetwork.ps1).
function Remove-HnsNetwork {
    [CmdletBinding()]
    param([hashtable] $Run, $Network)
    Remove-HnsPolicyList $Run
    Remove-HnsObject $Run 'endpoints' @(Get-NetworkEndpoint $Network)
    [void](Send-HnsRequest 'DELETE' 'networks' -Id $Network.ID)
    while ($left = @(Get-HnsRemnant $Network)) {
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            throw (New-Failure 'network-missing' "HNS still lists $($left -join ', ') after its removal")
        }
        Start-Sleep -Milliseconds 500
    }
    $watch = [Diagnostics.Stopwatch]::StartNew()
    while ($watch.Elapsed.TotalSeconds -lt $PortSeconds -and (Get-ReservedRangeCount)) { Start-Sleep -Seconds 1 }
}

# .SYNOPSIS
# Return an address of the range: 1 is the gateway, 2 the host's address in a bridge (win-bridge routes through it).
function Get-RangeAddress {
    [CmdletBinding()]
    param([string] $Subnet, [int] $Place)
    $octets = $Subnet.Split('/')[0].Split('.')
    ($octets[0..2] + ([int] $octets[3] + $Place)) -join '.'
}
