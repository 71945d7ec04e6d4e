# Return the disk of a machine, with sizes in bytes. `behind`: a partition after C:, which then cannot grow.
function Get-KeptDisk {
    $kept = Get-Kept 'disk'
    if (-not $kept.Count) { $kept = @{ size = 128GB; drive = 128GB - 100MB; behind = 0; free = 100GB } }
    $kept
}

function Get-Partition {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [char] $DriveLetter)
    [pscustomobject] @{ DriveLetter = $DriveLetter; DiskNumber = 0; Size = [uint64] (Get-KeptDisk).drive }
}

function Get-Disk {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [uint32] $Number)
    $disk = Get-KeptDisk
    $used = 100MB + $disk.drive + $disk.behind
    [pscustomobject] @{ Number = $Number; Size = [uint64] $disk.size; AllocatedSize = [uint64] $used }
}

function Get-PartitionSupportedSize {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [char] $DriveLetter)
    Write-Asked 'Get-PartitionSupportedSize' $PSBoundParameters
    $disk = Get-KeptDisk
    $most = if ($disk.behind) { $disk.drive } else { $disk.size - 100MB }
    [pscustomobject] @{ SizeMin = [uint64] 20GB; SizeMax = [uint64] $most }
}

function Resize-Partition {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [char] $DriveLetter, [Parameter(Mandatory)] [uint64] $Size)
    $disk = Get-KeptDisk
    if ($Size -eq $disk.drive) { throw 'The size of the extent is less than the minimum of 1MB.' }
    if ($disk.behind -or $Size -gt $disk.size - 100MB) { throw 'Size Not Supported' }
    $disk.free += $Size - $disk.drive
    $disk.drive = $Size
    Set-Kept 'disk' $disk
}

function Get-Volume {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [char] $DriveLetter)
    $disk = Get-KeptDisk
    [pscustomobject] @{ DriveLetter = $DriveLetter; Size = [uint64] $disk.drive; SizeRemaining = [uint64] $disk.free }
}
