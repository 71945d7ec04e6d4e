# Stop of dependent services, which Wine does not list (EnumDependentServicesW is a stub). ServiceController.Stop() of
# .NET stops them first, waits 30 s for each, and does not start them again (referencesource, ServiceController.cs; the
# same in .NET 8).

Add-Type -AssemblyName System.ServiceProcess.ServiceController

# Return the services that depend on the service, directly or indirectly, by their registry values; last started first.
function Get-DependentService([string] $Name) {
    $root = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services'
    foreach ($service in [ServiceProcess.ServiceController]::GetServices()) {
        if ($Name -notin [Microsoft.Win32.Registry]::GetValue("$root\$($service.ServiceName)", 'DependOnService', $null)) { continue }
        Get-DependentService $service.ServiceName
        $service
    }
}

$Controller = @{ TypeName = 'System.ServiceProcess.ServiceController'; Force = $true }
Update-TypeData @Controller -MemberName DependentServices -MemberType ScriptProperty -Value {
    , @(Get-DependentService $this.ServiceName)
}
Update-TypeData @Controller -MemberName Stop -MemberType ScriptMethod -Value {
    foreach ($service in $this.DependentServices) {
        $service.Refresh()
        if ($service.Status -eq 'Stopped') { continue }
        $service.PSBase.Stop()
        $service.WaitForStatus('Stopped', '00:00:30')
    }
    $this.PSBase.Stop()
}
