# Dependent services, which Wine does not list (EnumDependentServicesW is a stub): ServiceController.Stop() of .NET stops
# them first, waits 30 s for each, and starts none again (referencesource, ServiceController.cs; the same in .NET 8).

Add-Type -AssemblyName System.ServiceProcess.ServiceController

# Return the services whose registry values name the service as a dependency, also by way of others; last started first.
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
