# Stand-ins for what a Windows Server has and a winpwsh machine lacks of NetTCPIP, DnsClient and netsh, for two cards. They
# refuse what the real ones refuse; the address comes true in the machine's network namespace, from the books in C:\fakes.
$Cards = 'Ethernet', 'Ethernet 2'

function Assert-Card([string] $Alias) {
    if ($Alias -notin $Cards) {
        throw "No MSFT_NetIPInterface objects found with property 'InterfaceAlias' equal to '$Alias'."
    }
}

function Get-Addresses {
    $kept = Get-Kept 'addresses'
    # as DHCP that nobody answers leaves a card
    if (-not $kept.Count) { $kept['169.254.7.7'] = @{ IPAddress = '169.254.7.7'; InterfaceAlias = 'Ethernet 2' } }
    $kept
}

function Get-NetIPAddress {
    [CmdletBinding()]
    param([string] $IPAddress, [string] $InterfaceAlias, [ValidateSet('IPv4', 'IPv6')] [string] $AddressFamily)
    $found = @((Get-Addresses).Values | Where-Object {
            (-not $IPAddress -or $_.IPAddress -eq $IPAddress) -and
            (-not $InterfaceAlias -or $_.InterfaceAlias -eq $InterfaceAlias)
        })
    if (-not $found) { return Write-Error "No MSFT_NetIPAddress objects found with '$IPAddress$InterfaceAlias'" }
    $found | ForEach-Object { [pscustomobject] $_ }
}

function Remove-NetIPAddress {
    [CmdletBinding(SupportsShouldProcess, ConfirmImpact = 'High')]
    param([Parameter(ValueFromPipelineByPropertyName)] [string] $IPAddress)
    process {
        if (-not $PSCmdlet.ShouldProcess($IPAddress)) { return }
        $kept = Get-Addresses
        $kept.Remove($IPAddress)
        $kept[''] = @{}    # no first time again
        Set-Kept 'addresses' $kept
    }
}

function Set-NetIPInterface {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [string] $InterfaceAlias, [ValidateSet('IPv4', 'IPv6')] [string] $AddressFamily,
        [ValidateSet('Enabled', 'Disabled')] [string] $Dhcp, [uint32] $InterfaceMetric
    )
    Assert-Card $InterfaceAlias
    $kept = Get-Kept 'dhcp'
    $kept[$InterfaceAlias] = $Dhcp
    Set-Kept 'dhcp' $kept
}

function New-NetIPAddress {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [string] $InterfaceAlias, [ValidateSet('IPv4', 'IPv6')] [string] $AddressFamily,
        [Parameter(Mandatory)] [Net.IPAddress] $IPAddress, [ValidateRange(1, 32)] [byte] $PrefixLength,
        [Net.IPAddress] $DefaultGateway
    )
    Assert-Card $InterfaceAlias
    if ((Get-Kept 'dhcp')[$InterfaceAlias] -ne 'Disabled') {
        throw 'Inconsistent parameters PolicyStore PersistentStore and Dhcp Enabled'
    }
    $kept = Get-Addresses
    if ($kept.ContainsKey("$IPAddress")) { throw 'The object already exists.' }
    if ((Get-Kept 'routes').ContainsKey('0.0.0.0/0')) { throw 'Instance DefaultGateway already exists' }
    $kept["$IPAddress"] = @{
        IPAddress = "$IPAddress"; InterfaceAlias = $InterfaceAlias; PrefixLength = $PrefixLength
        Gateway = "$DefaultGateway"
    }
    Set-Kept 'addresses' $kept
    $routes = Get-Kept 'routes'
    $routes['0.0.0.0/0'] = @{ DestinationPrefix = '0.0.0.0/0'; InterfaceAlias = $InterfaceAlias; NextHop = "$DefaultGateway" }
    Set-Kept 'routes' $routes
    Get-NetIPAddress -IPAddress $IPAddress
}

function Set-DnsClientServerAddress {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $InterfaceAlias, [Parameter(Mandatory)] [Net.IPAddress[]] $ServerAddresses)
    Assert-Card $InterfaceAlias
    Set-Kept 'dns' @{ $InterfaceAlias = @($ServerAddresses | ForEach-Object { "$_" }) }
}

function Get-NetRoute {
    [CmdletBinding()]
    param(
        [string] $DestinationPrefix, [string] $InterfaceAlias, [ValidateSet('IPv4', 'IPv6')] [string] $AddressFamily
    )
    $found = (Get-Kept 'routes')[$DestinationPrefix]
    if (-not $found -or ($InterfaceAlias -and $found.InterfaceAlias -ne $InterfaceAlias)) {
        return Write-Error "No MSFT_NetRoute objects found with '$DestinationPrefix'"
    }
    [pscustomobject] $found
}

function New-NetRoute {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [string] $InterfaceAlias, [Parameter(Mandatory)] [string] $DestinationPrefix,
        [Parameter(Mandatory)] [Net.IPAddress] $NextHop
    )
    Assert-Card $InterfaceAlias
    $kept = Get-Kept 'routes'
    if ($kept.ContainsKey($DestinationPrefix)) { throw 'Instance MSFT_NetRoute already exists' }
    $kept[$DestinationPrefix] = @{
        DestinationPrefix = $DestinationPrefix; InterfaceAlias = $InterfaceAlias; NextHop = "$NextHop"
    }
    Set-Kept 'routes' $kept
}

function netsh.exe {
    $rule = "$args"
    $global:LASTEXITCODE = 1
    $form = '^interface portproxy add v4tov4 listenaddress=[\d.]+ listenport=\d+ connectaddress=[\d.]+ connectport=\d+$'
    if ($rule -notmatch $form) { return 'The syntax supplied for this command is not valid.' }
    $global:LASTEXITCODE = 0
    Set-Kept 'portproxy' @{ rule = $rule }
}

Export-ModuleMember -Function *
