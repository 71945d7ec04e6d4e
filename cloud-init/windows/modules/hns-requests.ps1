# Requests to the Host Networking Service (HNS), and removal of its objects.

# .SYNOPSIS
# The type with HNS's one function: HNSCall(method, path, request) gives a JSON text.
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
# What HNS says to a request. Where the module hns (microsoft/SDN) is loaded its function asks, else HNS is called.
# Get-Command would look through all modules of the machine for that function, each time.
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
    $path = (@('', $Type, $Id, $Action) | Where-Object { $_ -or $_ -eq '' }) -join '/'
    $said = ''
    $code = (Get-HnsType)::HNSCall($Method, $path.TrimEnd('/'), $data, [ref] $said)
    $answer = if ($said) { ConvertFrom-Json $said }
    if ($code -ne 0 -or ($answer -and -not $answer.Success)) {
        throw (New-Failure 'network-missing' "HNS refuses $Method $path with ${code}: $said")
    }
    if ($answer -and $answer.PSObject.Properties['Output']) { @($answer.Output) | Where-Object { $null -ne $_ } }
}

# .SYNOPSIS
# The one network or endpoint of that name, or nothing.
function Get-HnsObject {
    [CmdletBinding()]
    param([string] $Type, [string] $Name)
    Send-HnsRequest 'GET' $Type | Where-Object { $_.Name -eq $Name } | Select-Object -First 1
}

# .SYNOPSIS
# Removes all load balancers of kube-proxy, which makes them anew: HNS keeps a network that one of them uses.
function Remove-HnsPolicyList {
    [CmdletBinding()]
    param()
    foreach ($each in @(Send-HnsRequest 'GET' 'policylists')) {
        if ($each) { [void](Send-HnsRequest 'DELETE' 'policylists' -Id $each.ID) }
    }
}

# .SYNOPSIS
# Removes a network, with all that would hold it.
function Remove-HnsNetwork {
    [CmdletBinding()]
    param($Network)
    Remove-HnsPolicyList
    [void](Send-HnsRequest 'DELETE' 'networks' -Id $Network.ID)
}
