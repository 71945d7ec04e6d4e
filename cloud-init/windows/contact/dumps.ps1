# Dumps of the machine, as JSON: the answers of Windows to the commands that the scripts use.

$MostItems = 300    # of a list
$Deepest = 6        # levels of an object

# Names of the dumps that a new network changes.
$OfNetworks = 'hns-networks', 'hns-endpoints', 'hns-policies', 'adapters', 'addresses', 'interfaces', 'routes'

# Commands by the name of the dump; each runs alone, so a failing one does not stop the others.
$DumpSeconds = 300    # for one dump; one that takes longer ends the run
$Dumps = [ordered] @{
    'hns-networks'      = { Send-HnsRequest 'GET' 'networks' }
    'hns-endpoints'     = { Send-HnsRequest 'GET' 'endpoints' }
    'hns-policies'      = { Send-HnsRequest 'GET' 'policylists' }
    'adapters'          = { Get-NetAdapter }
    'addresses'         = { Get-NetIPAddress }
    'interfaces'        = { Get-NetIPInterface -AddressFamily IPv4 }
    'routes'            = { Get-NetRoute -AddressFamily IPv4 }
    'firewall-profiles' = { Get-NetFirewallProfile }
    'firewall-rules'    = { Get-NetFirewallRule -Name 'mullion-*' }
    'tasks'             = { Get-ScheduledTask -TaskName 'mullion*' -ErrorAction Ignore }
    'features'          = { Get-WindowsFeature -Name 'Containers', 'Hyper-V', 'Windows-Defender' }
    'partitions'        = { Get-Partition }
    'defender'          = { Get-MpComputerStatus }
    'versions'          = { Get-VersionShape }
    'powershell'        = { $PSVersionTable }
    'assemblies'        = { [AppDomain]::CurrentDomain.GetAssemblies() | ForEach-Object { $_.FullName } }
    'services'          = { Get-ServiceShape }
    'access'            = { Get-AccessShape }
    'page-file'         = { Get-RegistryValue $Memory 'PagingFiles' }
    'ports'             = { Get-PortRange 'tcp' }
    'time'              = { (Invoke-Program 'w32tm.exe' @('/query', '/configuration') -AllowFailure).Output }
    'environment'       = { Get-EnvironmentShape }
}

# .SYNOPSIS
# Return the values that identify this Windows.
function Get-VersionShape {
    [CmdletBinding()]
    param()
    $names = 'ProductName', 'InstallationType', 'EditionID', 'DisplayVersion', 'ReleaseId', 'CurrentBuildNumber', 'UBR'
    $shape = [ordered] @{}
    foreach ($name in $names) { $shape[$name] = [Microsoft.Win32.Registry]::GetValue($CurrentVersionKey, $name, $null) }
    $shape
}

# .SYNOPSIS
# Return the machine's variables that the scripts and programs read; others may hold secrets.
function Get-EnvironmentShape {
    [CmdletBinding()]
    param()
    $shape = [ordered] @{}
    foreach ($name in 'Path', 'PSModulePath', 'CONTAINER_RUNTIME_ENDPOINT', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY') {
        $shape[$name] = [Environment]::GetEnvironmentVariable($name, 'Machine')
    }
    $shape
}

# .SYNOPSIS
# Return name, state and start type of each service.
function Get-ServiceShape {
    [CmdletBinding()]
    param()
    foreach ($service in [ServiceProcess.ServiceController]::GetServices()) {
        [ordered] @{
            name = $service.ServiceName; state = "$($service.Status)"
            start = Get-RegistryValue "$ServiceRoot\$($service.ServiceName)" 'Start'
        }
        $service.Dispose()
    }
}

# .SYNOPSIS
# Return the access rules of folders that the plan creates or uses, as SDDL.
function Get-AccessShape {
    [CmdletBinding()]
    param()
    $shape = [ordered] @{}
    $folders = 'C:\', 'C:\k', 'C:\var', 'C:\var\log', 'C:\var\lib\kubelet', 'C:\var\lib\kubelet\pods', 'C:\run'
    $folders += 'C:\ProgramData', 'C:\ProgramData\mullion', 'C:\ProgramData\containerd', 'C:\Program Files'
    foreach ($folder in $folders) {
        if ([IO.Directory]::Exists($folder)) {
            $shape[$folder] = (Get-Acl -LiteralPath $folder).GetSecurityDescriptorSddlForm('Access')
        }
    }
    $shape
}

# .SYNOPSIS
# Return a value in types of JSON: dictionaries, lists, texts, numbers, truth values.
function ConvertTo-Plain {
    [CmdletBinding()]
    param($Value, [int] $Level = 0)
    if ($null -eq $Value -or $Value -is [bool] -or $Value -is [string]) { return $Value }
    if ($Value -is [Enum] -or $Level -ge $Deepest) { return "$Value" }
    if ($Value -is [ValueType] -and "$Value" -match '^-?\d+$') { return [decimal] "$Value" }
    if ($Value -is [ValueType] -or $Value -is [Version] -or $Value -is [Type]) { return "$Value" }
    $plain = [Collections.Specialized.OrderedDictionary]::new()
    if ($Value -is [Collections.IDictionary]) {
        foreach ($key in $Value.Keys) { $plain["$key"] = ConvertTo-Plain $Value[$key] ($Level + 1) }
        return $plain
    }
    if ($Value -is [Collections.IEnumerable]) {
        $list = [Collections.ArrayList]::new()
        foreach ($one in $Value) {
            if ($list.Count -lt $MostItems) { [void]$list.Add((ConvertTo-Plain $one ($Level + 1))) }
        }
        return , $list.ToArray()
    }
    foreach ($member in $Value.PSObject.Properties) {
        if ($member.Name -match '^(Cim|PS)') { continue }
        $data = try { $member.Value } catch { $null }
        $plain[$member.Name] = ConvertTo-Plain $data ($Level + 2)
    }
    $plain
}

# .SYNOPSIS
# Write the dumps of a stage, all or the named ones; a failed dump contains the reason.
function Write-Dumps {
    [CmdletBinding()]
    param([string] $Stage, [string[]] $Names = @($Dumps.Keys))
    foreach ($name in $Names) {
        $end = New-Deadline $DumpSeconds
        try { $text = ConvertTo-JsonText (ConvertTo-Plain @(& $Dumps[$name])) }
        catch {
            $why = "$($_.Exception.GetBaseException().Message)"
            $text = ConvertTo-JsonText ([ordered] @{ 'not collected' = $why })
        }
        finally { $end.Dispose() }
        Set-WholeFile "$Contact\dumps\$Stage\$name.json" $Utf8.GetBytes($text)
    }
}
