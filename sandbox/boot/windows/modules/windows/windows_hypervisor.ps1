# Stand-ins for Hyper-V: the boot setting, and the events of the System log that tell of the hypervisor's launch.

# Return whether the boot setting is on, and whether the processor lets the hypervisor start.
function Get-Hypervisor {
    $kept = Get-Kept 'hypervisor'
    $launch = if ($kept.ContainsKey('launch')) { $kept['launch'] } else { 'Auto' }
    @{ Launch = $launch; Starts = $launch -eq 'Auto' -and -not $kept['refused'] }
}

function bcdedit.exe {
    $global:LASTEXITCODE = 0
    $asked = $args -join ' '
    if ($asked -eq '/enum {current}') {
        '', 'Windows Boot Loader', '-------------------', 'identifier              {current}'
        if ((Get-Kept 'features')['Hyper-V'] -eq 'Installed') { "hypervisorlaunchtype    $((Get-Hypervisor).Launch)" }
        return
    }
    if ($asked -ne '/set {current} hypervisorlaunchtype auto') { throw "no stand-in of bcdedit $asked" }
    $kept = Get-Kept 'hypervisor'
    $kept['launch'] = 'Auto'
    Set-Kept 'hypervisor' $kept
    'The operation completed successfully.'
}

# Return the newest event that matches. Windows has always just started here, with the hypervisor if Hyper-V is installed.
function Get-WinEvent {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory, ParameterSetName = 'log', Position = 0)] [string] $LogName,
        [Parameter(Mandatory, ParameterSetName = 'filter')] [hashtable] $FilterHashtable, [int] $MaxEvents
    )
    if ($LogName) { throw "There is not an event log on the localhost computer that matches '$LogName'." }
    $there = @(@{ Provider = 'Microsoft-Windows-Kernel-General'; Id = 12; Message = 'The operating system started.' })
    if ((Get-Kept 'features')['Hyper-V'] -eq 'Installed') {
        $starts = (Get-Hypervisor).Starts
        $there += @{
            Provider = 'Microsoft-Windows-Hyper-V-Hypervisor'; Id = if ($starts) { 2 } else { 41 }
            Message = if ($starts) { 'Hypervisor scheduler type is 0x3.' } else { 'Hypervisor launch failed.' }
        }
    }
    $found = $there | Where-Object {
        $_.Provider -eq $FilterHashtable['ProviderName'] -and $FilterHashtable['Id'] -in $null, $_.Id
    } | Select-Object -First 1
    if (-not $found) { throw 'No events were found that match the specified selection criteria.' }
    [pscustomobject] @{ Id = $found.Id; Message = $found.Message; TimeCreated = [DateTime]::Now }
}
