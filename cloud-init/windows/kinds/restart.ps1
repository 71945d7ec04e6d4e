# Restarts of the machine.

$Reboots = 5    # restarts in a row before a run gives up

# .SYNOPSIS
# Return the number of this boot.
function Get-BootId {
    [CmdletBinding()]
    param()
    [int] (Get-RegistryValue "$Memory\PrefetchParameters" 'BootId')
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
