# Stand-ins for modules of Windows that a winpwsh machine lacks. Each writes down what it was asked, refuses parameters
# that the real one would refuse (types, sets of values), and keeps what it made, in C:\fakes.

$Folder = 'C:\fakes'

function Write-Asked([string] $Name, [hashtable] $Bound) {
    $line = @{ name = $Name; asked = $Bound } | ConvertTo-Json -Depth 6 -Compress
    [IO.File]::AppendAllText("$Folder\asked.jsonl", "$line`n")
}

function Get-Kept([string] $Kind) {
    $file = "$Folder\$Kind.json"
    if ([IO.File]::Exists($file)) { ConvertFrom-Json ([IO.File]::ReadAllText($file)) -AsHashtable } else { @{} }
}

function Set-Kept([string] $Kind, [hashtable] $Kept) {
    [IO.File]::WriteAllText("$Folder\$Kind.json", ($Kept | ConvertTo-Json -Depth 6))
}

function New-ScheduledTaskAction {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Execute, [string] $Argument, [string] $WorkingDirectory)
    @{ Execute = $Execute; Argument = $Argument }
}

function New-ScheduledTaskTrigger {
    [CmdletBinding()]
    param([switch] $AtStartup, [switch] $AtLogOn)
    @{ AtStartup = [bool] $AtStartup }
}

function New-ScheduledTaskPrincipal {
    [CmdletBinding()]
    param(
        [string] $UserId,
        [ValidateSet('None', 'Password', 'S4U', 'Interactive', 'Group', 'ServiceAccount')] [string] $LogonType,
        [ValidateSet('Limited', 'Highest')] [string] $RunLevel
    )
    @{ UserId = $UserId; LogonType = $LogonType; RunLevel = $RunLevel }
}

function New-ScheduledTaskSettingsSet {
    [CmdletBinding()]
    param(
        [TimeSpan] $ExecutionTimeLimit, [ValidateSet('Parallel', 'Queue', 'IgnoreNew')] [string] $MultipleInstances
    )
    @{ ExecutionTimeLimit = $ExecutionTimeLimit.TotalSeconds; MultipleInstances = $MultipleInstances }
}

function Register-ScheduledTask {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [string] $TaskName, [hashtable] $Action, [hashtable] $Trigger,
        [hashtable] $Principal, [hashtable] $Settings, [switch] $Force
    )
    $tasks = Get-Kept 'tasks'
    if ($tasks.ContainsKey($TaskName) -and -not $Force) { throw 'Cannot create a file when that file already exists.' }
    $tasks[$TaskName] = @{ action = $Action; trigger = $Trigger; principal = $Principal; settings = $Settings }
    Set-Kept 'tasks' $tasks
}

function Start-ScheduledTask {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $TaskName)
    if (-not (Get-Kept 'tasks').ContainsKey($TaskName)) { throw 'The system cannot find the file specified.' }
    Write-Asked 'Start-ScheduledTask' $PSBoundParameters
}

function Get-WindowsFeature {
    [CmdletBinding()]
    param([string] $Name)
    $kept = Get-Kept 'features'
    [pscustomobject] @{ InstallState = if ($kept.ContainsKey($Name)) { $kept[$Name] } else { 'Available' } }
}

function Install-WindowsFeature {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name, [switch] $IncludeManagementTools, [switch] $Restart)
    Write-Asked 'Install-WindowsFeature' $PSBoundParameters
    $kept = Get-Kept 'features'
    $kept[$Name] = 'InstallPending'
    Set-Kept 'features' $kept
    [pscustomobject] @{ Success = $true; RestartNeeded = 'Yes'; ExitCode = 'SuccessRestartRequired' }
}

function Rename-Computer {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $NewName, [switch] $Force, [switch] $Restart)
    if ($NewName.Length -gt 15) { throw 'The new computer name is too long.' }
    $key = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName'
    [Microsoft.Win32.Registry]::SetValue($key, 'ComputerName', $NewName)
}

function Restart-Computer {
    [CmdletBinding()]
    param([switch] $Force)
    Write-Asked 'Restart-Computer' $PSBoundParameters
}

function netsh.exe {
    $kept = Get-Kept 'ports'
    $protocol = $args[4]
    $global:LASTEXITCODE = 0
    if ($args[2] -eq 'set') {
        $kept[$protocol] = @([int] $args[5], [int] $args[6])
        Set-Kept 'ports' $kept
        return 'Ok.'
    }
    $range = if ($kept.ContainsKey($protocol)) { $kept[$protocol] } else { 49152, 16384 }
    "Protocol $protocol Dynamic Port Range", "Start Port      : $($range[0])", "Number of Ports : $($range[1])"
}

function Get-NetFirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    $kept = Get-Kept 'rules'
    if ($kept.ContainsKey($Name)) { [pscustomobject] $kept[$Name] }
}

function Get-NetFirewallPortFilter {
    [CmdletBinding()]
    param([Parameter(ValueFromPipeline)] $AssociatedNetFirewallRule)
    process { [pscustomobject] @{ LocalPort = $AssociatedNetFirewallRule.LocalPort } }
}

function Remove-NetFirewallRule {
    [CmdletBinding()]
    param([string] $Name)
    $kept = Get-Kept 'rules'
    $kept.Remove($Name)
    Set-Kept 'rules' $kept
}

function New-NetFirewallRule {
    [CmdletBinding()]
    param(
        [string] $Name, [string] $DisplayName, [string] $Description,
        [ValidateSet('Inbound', 'Outbound')] [string] $Direction, [ValidateSet('Allow', 'Block')] [string] $Action,
        [ValidateSet('TCP', 'UDP')] [string] $Protocol, [string[]] $LocalPort, [string[]] $RemoteAddress
    )
    $kept = Get-Kept 'rules'
    if ($kept.ContainsKey($Name)) { throw 'Cannot create a file when that file already exists.' }
    $kept[$Name] = $PSBoundParameters + @{ Enabled = 'True' }
    Set-Kept 'rules' $kept
}

function Get-NetRoute {
    [CmdletBinding()]
    param([string] $DestinationPrefix)
    $default = @{ DestinationPrefix = '0.0.0.0/0'; InterfaceIndex = 7; NextHop = '10.20.0.1' }
    $routes = @($default) + @((Get-Kept 'routes').Values)
    foreach ($route in $routes) {
        if ($route.DestinationPrefix -eq $DestinationPrefix) {
            [pscustomobject] ($route + @{ RouteMetric = 0; InterfaceMetric = 15 })
        }
    }
}

function Remove-NetRoute {
    [CmdletBinding(SupportsShouldProcess)]
    param([Parameter(ValueFromPipeline)] $InputObject)
    process {
        $kept = Get-Kept 'routes'
        $kept.Remove($InputObject.DestinationPrefix)
        Set-Kept 'routes' $kept
    }
}

function New-NetRoute {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [string] $DestinationPrefix, [Parameter(Mandatory)] [uint32] $InterfaceIndex,
        [string] $NextHop, [ValidateSet('ActiveStore', 'PersistentStore')] [string] $PolicyStore
    )
    $kept = Get-Kept 'routes'
    if ($kept.ContainsKey($DestinationPrefix)) { throw 'Instance MSFT_NetRoute already exists' }
    $kept[$DestinationPrefix] = @{
        DestinationPrefix = $DestinationPrefix; InterfaceIndex = $InterfaceIndex; NextHop = $NextHop
    }
    Set-Kept 'routes' $kept
}

# Wine keeps Unix modes instead of access lists.
function Set-Acl {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $LiteralPath, [Security.AccessControl.FileSystemSecurity] $AclObject)
    if (-not (Test-Path -LiteralPath $LiteralPath)) { throw "Cannot find path '$LiteralPath'" }
    $kept = Get-Kept 'access'
    $kept[$LiteralPath] = $AclObject.GetSecurityDescriptorSddlForm('Access')
    Set-Kept 'access' $kept
}

function Get-Acl {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $LiteralPath)
    $kept = Get-Kept 'access'
    $acl = New-Object "Security.AccessControl.$(if (Test-Path $LiteralPath -PathType Container) { 'Directory' } else { 'File' })Security"
    $inherited = 'D:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;0x1301bf;;;AU)'
    $acl.SetSecurityDescriptorSddlForm($(if ($kept.ContainsKey($LiteralPath)) { $kept[$LiteralPath] } else { $inherited }))
    $acl
}

Export-ModuleMember -Function *
