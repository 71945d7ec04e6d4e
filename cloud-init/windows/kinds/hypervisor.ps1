# Hyper-V's hypervisor: whether Windows started on it, and the boot setting by which it starts.

$Hypervisor = 'Microsoft-Windows-Hyper-V-Hypervisor'
$StartSeconds = 60    # between the launch of the hypervisor and the event of Windows' start, at most

# .SYNOPSIS
# Return the newest event of a provider in the System log, with the id if there is one; nothing if there is none.
function Get-NewestEvent {
    [CmdletBinding()]
    param([string] $Provider, [int] $Id)
    $wanted = @{ LogName = 'System'; ProviderName = $Provider }
    if ($Id) { $wanted['Id'] = $Id }
    # the cmdlet throws if no event matches, and if Windows does not know the provider
    try { Get-WinEvent -FilterHashtable $wanted -MaxEvents 1 -ErrorAction Stop } catch { $null }
}

# .SYNOPSIS
# Return whether the hypervisor was launched at this boot: it logs event 2 then (Microsoft, "Manage Hyper-V hypervisor
# scheduler types"), and Windows event 12. HypervisorPresent of Win32_ComputerSystem does not tell: it is true in every
# machine of a cloud. The answer is kept for the boot, because the log forgets old events.
function Test-HypervisorStep {
    [CmdletBinding()]
    param($Run, $Step)
    $boot = Get-BootId
    if ((Update-Memory)['hypervisor'] -eq $boot) { return $true }
    $launch, $start = (Get-NewestEvent $Hypervisor 2), (Get-NewestEvent 'Microsoft-Windows-Kernel-General' 12)
    if (-not $launch -or ($start -and $launch.TimeCreated -lt $start.TimeCreated.AddSeconds(-$StartSeconds))) {
        return $false
    }
    if (-not $Run.Checking) { [void](Update-Memory @{ hypervisor = $boot }) }
    $true
}

# .SYNOPSIS
# Turn the boot setting on and restart; throw hypervisor-missing if it is on and no restart is due.
function Set-HypervisorStep {
    [CmdletBinding()]
    param($Run, $Step)
    $said = "$(& bcdedit.exe /enum '{current}')"
    if ($LASTEXITCODE -eq 0 -and $said -notmatch 'hypervisorlaunchtype\s+Auto') {
        Request-Reboot $Run
        $said = "$(& bcdedit.exe /set '{current}' hypervisorlaunchtype auto)"
        if ($LASTEXITCODE) { throw (New-Failure 'command-failed' "bcdedit.exe ended with ${LASTEXITCODE}: $said") }
    }
    if (-not (Test-RebootStep $Run $Step)) { Set-RebootStep $Run $Step }
    $last = Get-NewestEvent $Hypervisor
    $why = if ($last) { "its last event is $($last.Id): $($last.Message)" } else { 'the System log has no event of it' }
    throw (New-Failure 'hypervisor-missing' "Hyper-V's hypervisor does not run since this boot; $why")
}
