# host-local's leases of addresses: one file per address, which starts with the holder.

# .SYNOPSIS
# Return the folder with the leases of the step's network.
function Get-LeaseFolder {
    [CmdletBinding()]
    param($Step)
    "$($Step['data_directory'])\$($Step['network'])"
}

# .SYNOPSIS
# Return the first line of a lease's file; empty if it has none, or only zeros, as after a power cut. Nothing if
# host-local has just removed the file.
function Get-LeaseHolder {
    [CmdletBinding()]
    param([string] $Path)
    try {
        # host-local may have it open
        $stream = [IO.FileStream]::new($Path, 'Open', 'Read', 'ReadWrite, Delete')
        try { $text = [IO.StreamReader]::new($stream).ReadToEnd() } finally { $stream.Dispose() }
        $text.Trim([char] 0).Split("`n")[0].Trim()
    }
    # Windows refuses access to a file that is being removed
    catch [IO.IOException], [UnauthorizedAccessException] { return }
}

# .SYNOPSIS
# Return host-local's leases: @{ address = holder }; the holder is empty if the file names none.
function Get-Lease {
    [CmdletBinding()]
    param($Step)
    $leases = @{}
    $folder = Get-LeaseFolder $Step
    if (-not [IO.Directory]::Exists($folder)) { return $leases }
    foreach ($file in [IO.Directory]::GetFiles($folder)) {
        $name = [IO.Path]::GetFileName($file)
        if ($name -notmatch '^\d+(\.\d+){3}$') { continue }
        $holder = Get-LeaseHolder $file
        if ($null -ne $holder) { $leases[$name] = $holder }
    }
    $leases
}

# .SYNOPSIS
# Remove leases that name no holder at two looks in a row, and whose addresses no endpoint has: host-local finds a lease
# by its holder, and would never give these addresses again. It writes the holder right after it has made the file.
function Remove-EmptyLease {
    [CmdletBinding()]
    param([hashtable] $Run, $Record, $Step, [string[]] $Used)
    $leases = Get-Lease $Step
    $empty = @($leases.Keys | Where-Object { -not $leases[$_] -and $_ -notin $Used })
    foreach ($address in Get-Confirmed $Record 'leases' $empty) {
        try { [IO.File]::Delete("$(Get-LeaseFolder $Step)\$address") }
        catch [IO.IOException], [UnauthorizedAccessException] { continue }
        Write-Said $Run "the lease of the address $address named no holder and was removed"
    }
}
