# Forwarding of IPv4 packets by an interface.

# .SYNOPSIS
# Return whether an interface forwards.
function Test-Forwarding {
    [CmdletBinding()]
    param([uint32] $Index)
    $found = Find-NetObject { Get-NetIPInterface -InterfaceIndex $Index -AddressFamily IPv4 -ErrorAction Stop }
    [bool] ($found -and "$(@($found)[0].Forwarding)" -eq 'Enabled')
}

# .SYNOPSIS
# Let an interface forward. Set-NetIPInterface can fail with "Element not found" although the interface exists
# (flannel-io/flannel#1858); netsh does it too, as in Kubernetes' cluster/gce/windows/k8s-node-setup.psm1.
function Enable-Forwarding {
    [CmdletBinding()]
    param([hashtable] $Run, [uint32] $Index)
    while (-not (Test-Forwarding $Index)) {
        $why = ''
        try { Set-NetIPInterface -InterfaceIndex $Index -AddressFamily IPv4 -Forwarding Enabled -ErrorAction Stop }
        catch {
            $said = & netsh.exe interface ipv4 set interface $Index forwarding=enabled
            $why = "$($_.Exception.GetBaseException().Message); netsh: $($said -join ' ')"
        }
        if (Test-Forwarding $Index) { return }
        if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
            throw (New-Failure 'network-missing' "interface $Index does not forward: $why")
        }
        Start-Sleep -Milliseconds 500
    }
}
