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

# .SYNOPSIS
# Send a request to HNS and return its output. Use Invoke-HnsRequest if the module hns (microsoft/SDN) is loaded, else
# call HNS. Not Get-Command, which would search all modules of the machine each time.
function Send-HnsRequest {
    [CmdletBinding()]
    param([string] $Method, [string] $Type, [string] $Id = '', [string] $Action = '', $Body)
    $data = if ($null -ne $Body) { ConvertTo-JsonText $Body } else { '' }
    if (Test-Path 'Function:\Invoke-HnsRequest') {
        $words = @{ Method = $Method; Type = $Type }
        if ($Id) { $words['Id'] = [Guid] $Id }
        if ($Action) { $words['Action'] = $Action }
        if ($data) { $words['Data'] = $data }
        return Invoke-HnsRequest @words | Where-Object { $null -ne $_ }
    }
    $path = '/' + ((@($Type, $Id, $Action) | Where-Object { $_ }) -join '/')
    $said = ''
    $code = (Get-HnsType)::HNSCall($Method, $path, $data, [ref] $said)
    $answer = if ($said) { ConvertFrom-Json $said }
    if ($code -ne 0 -or ($answer -and -not $answer.Success)) {
        $number = '0x{0:x8}' -f $code
        throw (New-Failure 'network-missing' "HNS refuses $Method $path with ${number}: $said")
    }
    if ($answer -and $answer.PSObject.Properties['Output']) { @($answer.Output) | Where-Object { $null -ne $_ } }
}

# .SYNOPSIS
# Return the network or endpoint with the name, or nothing.
function Get-HnsObject {
    [CmdletBinding()]
    param([string] $Type, [string] $Name)
    Send-HnsRequest 'GET' $Type | Where-Object { $_.Name -eq $Name } | Select-Object -First 1
}

# .SYNOPSIS
# Remove all load balancers: HNS keeps a network that one of them uses, and kube-proxy creates them again.
function Remove-HnsPolicyList {
    [CmdletBinding()]
    param()
    foreach ($each in @(Send-HnsRequest 'GET' 'policylists')) {
        if ($each) { [void](Send-HnsRequest 'DELETE' 'policylists' -Id $each.ID) }
    }
}

# .SYNOPSIS
# Return what HNS still lists of a removed network: the network, or endpoints on its ports; nothing if it lists neither.
function Get-HnsRemnant {
    [CmdletBinding()]
    param($Network)
    if (Send-HnsRequest 'GET' 'networks' | Where-Object { $_.ID -eq $Network.ID }) { return "network $($Network.Name)" }
    Send-HnsRequest 'GET' 'endpoints' | Where-Object {
        $_.PSObject.Properties['VirtualNetwork'] -and $_.VirtualNetwork -eq $Network.ID
    } | ForEach-Object { "endpoint $($_.Name) of network $($Network.Name)" }
}

# .SYNOPSIS
# Remove a network and the load balancers that would keep it. HNS answers before it has removed all of it, and a new
# network of that name or range would fail until then.
function Remove-HnsNetwork {
    [CmdletBinding()]
    param([hashtable] $Run, $Network)
    Remove-HnsPolicyList
    [void](Send-HnsRequest 'DELETE' 'networks' -Id $Network.ID)
    while ($left = @(Get-HnsRemnant $Network)) {
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            throw (New-Failure 'network-missing' "HNS still lists $($left -join ', ') after its removal")
        }
        Start-Sleep -Milliseconds 500
    }
}
