# Restarts of the machine.

$Reboots = 5    # restarts in a row before a run gives up
$BootKey = 'SOFTWARE\mullion-boot'
$GoingDown = 0, 1115, 1190    # winerror.h: ERROR_SHUTDOWN_IN_PROGRESS, ERROR_SHUTDOWN_IS_SCHEDULED

# .SYNOPSIS
# Return the random number of this boot. The first call of a boot writes it into a volatile key, which Windows forgets
# when it stops (REG_OPTION_VOLATILE). Windows' own count, PrefetchParameters\BootId, is documented nowhere; others saw
# machines without it, and machines with that of the boot before.
function Get-BootId {
    [CmdletBinding()]
    param()
    $key = [Microsoft.Win32.Registry]::LocalMachine.CreateSubKey($BootKey, 'Default', 'Volatile')
    try {
        if ($null -eq $key.GetValue('Id')) {
            $key.SetValue('Id', ([BitConverter]::ToInt32([Guid]::NewGuid().ToByteArray(), 0) -band 0x7FFFFFFF), 'DWord')
        }
        $key.GetValue('Id')
    }
    finally { $key.Dispose() }
}

# .SYNOPSIS
# Record that a setting takes effect only after a restart.
function Request-Reboot {
    [CmdletBinding()]
    param([hashtable] $Run)
    $boot = Get-BootId
    if ($Run.Checking) { $Run.RebootAsked = $true }
    elseif ((Update-Memory)['reboot_asked'] -ne $boot) { [void](Update-Memory @{ reboot_asked = $boot }) }
}

# .SYNOPSIS
# Return whether no step has requested a restart since this boot.
function Test-RebootStep {
    [CmdletBinding()]
    param($Run, $Step)
    $asked = (Update-Memory)['reboot_asked']
    -not $Run.RebootAsked -and ($null -eq $asked -or $asked -ne (Get-BootId))
}

# .SYNOPSIS
# Count the restart and end the run: the machine restarts after the result is written.
function Set-RebootStep {
    [CmdletBinding()]
    param($Run, $Step)
    $count = 1 + [int] (Update-Memory)['reboots']
    if ($count -gt $Reboots) { throw (New-Failure 'reboot-limit' "$Reboots restarts in a row did not finish the plan") }
    [void](Update-Memory @{ reboots = $count })
    throw (New-Failure 'reboot' 'the machine is going down')
}

# .SYNOPSIS
# Restart the machine with shutdown.exe; only if that fails with Restart-Computer, which asks WMI and can wait for ever.
# A call that hangs ends the process: the network watch then starts the executor, which tries again.
function Restart-Machine {
    [CmdletBinding()]
    param([hashtable] $Run)
    $end, $why = (New-Deadline $QuerySeconds), ''
    try {
        try {
            $said = & shutdown.exe /r /f /t 0
            if ($LASTEXITCODE -notin $GoingDown) { $why = "ended with ${LASTEXITCODE}: $said" }
        }
        catch { $why = $_.Exception.GetBaseException().Message }
        if (-not $why) { return }
        Write-Said $Run "shutdown.exe $why; Restart-Computer is asked"
        Restart-Computer -Force
    }
    finally { $end.Dispose() }
}
