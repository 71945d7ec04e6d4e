# Stand-ins for modules of Windows that a winpwsh machine lacks. Each records its calls, refuses parameters that the
# real cmdlet refuses (types, sets of values), and keeps its state, in C:\fakes.

# Tests that run several machines in one process set MULLION_FAKES to a folder for each.
function Get-Folder { if ($env:MULLION_FAKES) { $env:MULLION_FAKES } else { 'C:\fakes' } }

function Write-Asked([string] $Name, [hashtable] $Bound) {
    $line = @{ name = $Name; asked = $Bound } | ConvertTo-Json -Depth 6 -Compress
    [IO.File]::AppendAllText("$(Get-Folder)\asked.jsonl", "$line`n")
}

$Cache = @{}
function Get-Kept([string] $Kind) {
    $file = "$(Get-Folder)\$Kind.json"
    if (-not [IO.File]::Exists($file)) { return @{} }
    $text = [IO.File]::ReadAllText($file)
    if (-not $Cache.ContainsKey($Kind) -or $Cache[$Kind].text -cne $text) {
        $Cache[$Kind] = @{ text = $text; kept = ConvertFrom-Json $text -AsHashtable }
    }
    $Cache[$Kind].kept
}

function Set-Kept([string] $Kind, [hashtable] $Kept) {
    $text = $Kept | ConvertTo-Json -Depth 9
    $Cache[$Kind] = @{ text = $text; kept = $Kept }
    [IO.File]::WriteAllText("$(Get-Folder)\$Kind.json", $text)
}

function New-ScheduledTaskAction {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Execute, [string] $Argument, [string] $WorkingDirectory)
    @{ Execute = $Execute; Argument = $Argument }
}

function New-ScheduledTaskTrigger {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory, ParameterSetName = 'Startup')] [switch] $AtStartup,
        [Parameter(Mandatory, ParameterSetName = 'Once')] [switch] $Once,
        [Parameter(Mandatory, ParameterSetName = 'Once')] [DateTime] $At,
        [Parameter(ParameterSetName = 'Once')] [TimeSpan] $RepetitionInterval
    )
    $interval = if ($RepetitionInterval) { [Xml.XmlConvert]::ToString($RepetitionInterval) }
    $class = if ($AtStartup) { 'MSFT_TaskBootTrigger' } else { 'MSFT_TaskTimeTrigger' }
    @{ AtStartup = [bool] $AtStartup; CimClass = @{ CimClassName = $class }; Repetition = @{ Interval = $interval } }
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
        [TimeSpan] $ExecutionTimeLimit, [ValidateSet('Parallel', 'Queue', 'IgnoreNew')] [string] $MultipleInstances,
        [ValidateRange(0, 10)] [int] $Priority = 7, [int] $RestartCount, [TimeSpan] $RestartInterval
    )
    if ([bool] $RestartCount -ne [bool] $RestartInterval.Ticks) { throw 'The task XML contains an unexpected node.' }
    $settings = @{
        ExecutionTimeLimit = [Xml.XmlConvert]::ToString($ExecutionTimeLimit); MultipleInstances = $MultipleInstances
        Priority = $Priority
    }
    if ($RestartCount) { $settings += @{ RestartCount = $RestartCount; RestartInterval = $RestartInterval.TotalSeconds } }
    $settings
}

function Register-ScheduledTask {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [string] $TaskName, [hashtable] $Action, [hashtable] $Trigger,
        [hashtable] $Principal, [hashtable] $Settings, [string] $Description, [switch] $Force
    )
    $tasks = Get-Kept 'tasks'
    if ($tasks.ContainsKey($TaskName) -and -not $Force) {
        return Write-Error 'Cannot create a file when that file already exists.'
    }
    $tasks[$TaskName] = @{ action = $Action; trigger = $Trigger; principal = $Principal; settings = $Settings }
    Set-Kept 'tasks' $tasks
}

function Get-ScheduledTask {
    [CmdletBinding()]
    param([string] $TaskName)
    $tasks = Get-Kept 'tasks'
    if (-not $tasks.ContainsKey($TaskName)) { return Write-Error "No MSFT_ScheduledTask objects found with '$TaskName'" }
    $task, $principal = $tasks[$TaskName], @{}
    foreach ($name in $task.principal.Keys) { $principal[$name] = $task.principal[$name] }
    # Windows returns the account's local name (chef/win32-taskscheduler#68), which differs from the registered one
    if ($principal.UserId -in 'SYSTEM', 'S-1-5-18') {
        $sid = [Security.Principal.SecurityIdentifier]::new('S-1-5-18')
        $principal.UserId = $sid.Translate([Security.Principal.NTAccount]).Value
    }
    [pscustomobject] @{
        State = if ($task.disabled) { 'Disabled' } else { 'Ready' }; Principal = [pscustomobject] $principal
        Actions = @([pscustomobject] @{ Execute = $task.action.Execute; Arguments = $task.action.Argument })
        Triggers = @([pscustomobject] $task.trigger); Settings = [pscustomobject] $task.settings
    }
}

function Unregister-ScheduledTask {
    [CmdletBinding(SupportsShouldProcess)]
    param([Parameter(Mandatory)] [string] $TaskName)
    $tasks = Get-Kept 'tasks'
    if (-not $tasks.ContainsKey($TaskName)) { return Write-Error "No MSFT_ScheduledTask objects found with '$TaskName'" }
    $tasks.Remove($TaskName)
    Set-Kept 'tasks' $tasks
}

function Start-ScheduledTask {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $TaskName)
    if (-not (Get-Kept 'tasks').ContainsKey($TaskName)) {
        return Write-Error 'The system cannot find the file specified.'
    }
    Write-Asked 'Start-ScheduledTask' $PSBoundParameters
}

$Features = 'Containers', 'Hyper-V', 'Web-Server', 'FS-SMB1', 'Windows-Defender'

function Get-WindowsFeature {
    [CmdletBinding()]
    param([string] $Name)
    if ($Name -notin $Features) { return }
    $kept = Get-Kept 'features'
    [pscustomobject] @{ InstallState = if ($kept.ContainsKey($Name)) { $kept[$Name] } else { 'Available' } }
}

function Install-WindowsFeature {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Name, [switch] $IncludeManagementTools, [switch] $Restart)
    if ($Name -notin $Features) { throw "ArgumentNotValid: The role, role service, or feature name is not valid: '$Name'." }
    Write-Asked 'Install-WindowsFeature' $PSBoundParameters
    $kept = Get-Kept 'features'
    if ($kept['restart'] -eq 'pending') {
        Write-Error 'The operation cannot be completed, because the server that you specified requires a restart.'
        return [pscustomobject] @{ Success = $false; RestartNeeded = 'Yes'; ExitCode = 'FailedRestartRequired' }
    }
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
    [IO.File]::WriteAllText("$(Get-Folder)\name.txt", $NewName)    # Wine forgets it at the next boot
}

function Restart-Computer {
    [CmdletBinding()]
    param([switch] $Force)
    Write-Asked 'Restart-Computer' $PSBoundParameters
}

# Wine makes no links: create a file or folder at the path, and record the link in the stand-ins' state.
function New-Item {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [ValidateSet('SymbolicLink')] [string] $ItemType,
        [Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string] $Target
    )
    if ([IO.File]::Exists($Path) -or [IO.Directory]::Exists($Path)) { throw [IO.IOException]::new("$Path exists already") }
    if ([IO.Directory]::Exists($Target)) { [void][IO.Directory]::CreateDirectory($Path) }
    else { [IO.File]::WriteAllText($Path, 'link') }
    $kept = Get-Kept 'links'
    $kept[$Path] = $Target
    Set-Kept 'links' $kept
}

function Get-Item {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $LiteralPath, [switch] $Force)
    if (-not [IO.File]::Exists($LiteralPath) -and -not [IO.Directory]::Exists($LiteralPath)) {
        return Write-Error "Cannot find path '$LiteralPath'"
    }
    $target = (Get-Kept 'links')[$LiteralPath]
    [pscustomobject] @{ LinkType = if ($target) { 'SymbolicLink' }; Target = @($target) }
}

function Get-MpComputerStatus {
    [CmdletBinding()]
    param()
    $kept = Get-Kept 'defender'
    if (-not $kept.running) { throw '0x800106ba' }
    [pscustomobject] @{ AMServiceEnabled = $true }
}

function Get-MpPreference {
    [CmdletBinding()]
    param()
    $kept = Get-Kept 'defender'
    $hidden = 'N/A: Administrators are not allowed to view exclusions'    # HideExclusionsFromLocalAdmins
    if ($kept['hidden']) { return [pscustomobject] @{ ExclusionProcess = @($hidden); ExclusionPath = @($hidden) } }
    [pscustomobject] @{ ExclusionProcess = $kept.processes; ExclusionPath = $kept.paths }
}

function Add-MpPreference {
    [CmdletBinding()]
    param([string[]] $ExclusionProcess, [string[]] $ExclusionPath)
    $kept = Get-Kept 'defender'
    if ($kept['refuses'] -gt 0) {
        $kept['refuses']--
        Set-Kept 'defender' $kept
        throw 'Operation failed with the following error: 0x80070005'
    }
    if ($kept['refuses']) { return }    # negative: it answers with success and takes none
    $kept.processes = @(@($kept.processes) + @($ExclusionProcess) | Where-Object { $_ })
    $kept.paths = @(@($kept.paths) + @($ExclusionPath) | Where-Object { $_ })
    Set-Kept 'defender' $kept
}

$Profiles = 'Domain', 'Private', 'Public'

function Get-NetFirewallProfile {
    [CmdletBinding()]
    param([Alias('Profile')] [ValidateSet('Domain', 'Private', 'Public')] [string[]] $Name = $Profiles)
    $kept = Get-Kept 'profiles'
    foreach ($each in $Name) {
        $enabled, $inbound = if ($kept.ContainsKey($each)) { $kept[$each] } else { 'True', 'NotConfigured' }
        [pscustomobject] @{ Name = $each; Enabled = $enabled; DefaultInboundAction = $inbound }
    }
}

function Set-NetFirewallProfile {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [Alias('Profile')] [ValidateSet('Domain', 'Private', 'Public')] [string[]] $Name,
        [ValidateSet('True', 'False', 'NotConfigured')] [string] $Enabled,
        [ValidateSet('Block', 'Allow', 'NotConfigured')] [string] $DefaultInboundAction
    )
    $kept = Get-Kept 'profiles'
    foreach ($each in $Name) { $kept[$each] = @($Enabled, $DefaultInboundAction) }
    Set-Kept 'profiles' $kept
}

# Return the users that a test gave the machine, and whether each is enabled.
function Get-LocalUser {
    [CmdletBinding()]
    param([string[]] $Name)
    $kept = Get-Kept 'users'
    if ($Name) {
        $unknown = @($Name | Where-Object { -not $kept.ContainsKey($_) })
        if ($unknown) { throw "User $($unknown[0]) was not found." }
    }
    foreach ($each in @($kept.Keys | Where-Object { -not $Name -or $_ -in $Name })) {
        [pscustomobject] @{ Name = $each; Enabled = [bool] $kept[$each] }
    }
}

function Disable-LocalUser {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string[]] $Name)
    Write-Asked 'Disable-LocalUser' $PSBoundParameters
    $kept = Get-Kept 'users'
    foreach ($each in $Name) {
        if (-not $kept.ContainsKey($each)) { throw "User $each was not found." }
        $kept[$each] = $false
    }
    Set-Kept 'users' $kept
}

# Record access lists in the stand-ins' state: Wine keeps Unix modes instead.
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
    if (-not [IO.File]::Exists($LiteralPath) -and -not [IO.Directory]::Exists($LiteralPath)) {
        throw "Cannot find path '$LiteralPath'"
    }
    $kept = (Get-Kept 'access')[$LiteralPath]
    $acl = if ([IO.Directory]::Exists($LiteralPath)) { [Security.AccessControl.DirectorySecurity]::new() }
    else { [Security.AccessControl.FileSecurity]::new() }
    $inherited = 'D:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;0x1301bf;;;AU)'
    $acl.SetSecurityDescriptorSddlForm($(if ($kept) { $kept } else { $inherited }))
    $acl
}

foreach ($part in 'network', 'services', 'storage', 'programs', 'hypervisor', 'hns') { . "$PSScriptRoot\windows_$part.ps1" }
Export-ModuleMember -Function *
