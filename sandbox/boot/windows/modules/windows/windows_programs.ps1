# Stand-ins for programs of Windows that Wine lacks, or has without functions that the executor needs.

function netsh.exe {
    if (($args[0..3] -join ' ') -eq 'interface ipv4 set interface') {
        $key = Get-InterfaceKey $args[4]
        $global:LASTEXITCODE = [int] -not $key
        if (-not $key) { return 'The filename, directory name, or volume label syntax is incorrect.' }
        if ($args[5] -ne 'forwarding=enabled') { throw "no stand-in of netsh $args" }
        Set-Forwarding $key 'Enabled'
        return 'Ok.'
    }
    $kept = Get-Kept 'ports'
    $protocol = $args[4]
    $global:LASTEXITCODE = 0
    if ($args[2] -eq 'set') {
        $kept[$protocol] = @([int] ($args[5] -replace '^start='), [int] ($args[6] -replace '^num='))
        Set-Kept 'ports' $kept
        return 'Ok.'
    }
    $range = if ($kept.ContainsKey($protocol)) { $kept[$protocol] } else { 49152, 16384 }
    '', "Protocol $protocol Dynamic Port Range", '---------------------------------',
    "Start Port      : $($range[0])", "Number of Ports : $($range[1])", ''
}

# Do what Wine's program cannot (triggers, the flag of failure actions), and leave the rest to it.
function sc.exe {
    if ($args[0] -eq 'failureflag') { $global:LASTEXITCODE = 0; return }
    if ($args[0] -ne 'triggerinfo') { return & "$env:SystemRoot\System32\sc.exe" @args }
    $services = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey('SYSTEM\CurrentControlSet\Services', $true)
    $global:LASTEXITCODE = 0
    if ($args[2] -ne 'delete' -or -not $services.OpenSubKey($args[1])) { $global:LASTEXITCODE = 1060; return 'FAILED' }
    $services.DeleteSubKeyTree("$($args[1])\TriggerInfo", $false)
    '[SC] ChangeServiceConfig2 SUCCESS'
}

# Record the call; shutdown.txt has the exit code of one that fails.
function shutdown.exe {
    $failure = "$(Get-Folder)\shutdown.txt"
    $global:LASTEXITCODE = if ([IO.File]::Exists($failure)) { [int] [IO.File]::ReadAllText($failure) } else { 0 }
    Write-Asked 'shutdown.exe' @{ arguments = $args -join ' ' }
}
