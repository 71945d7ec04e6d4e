# Settings and parts of Windows: variables, build, host name, page file, features, Defender, users.

$CurrentVersion = 'HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion'
$ComputerName = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName'
$DefenderPolicy = 'HKEY_LOCAL_MACHINE\SOFTWARE\Policies\Microsoft\Windows Defender'
$Memory = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management'

# .SYNOPSIS
# Return whether the machine's environment variable has the value.
function Test-EnvironmentStep {
    [CmdletBinding()]
    param($Run, $Step)
    [Environment]::GetEnvironmentVariable($Step['variable'], 'Machine') -ceq $Step['value']
}

# .SYNOPSIS
# Set the variable for the machine, this process and its children.
function Set-EnvironmentStep {
    [CmdletBinding()]
    param($Run, $Step)
    foreach ($reach in 'Machine', 'Process') {
        [Environment]::SetEnvironmentVariable($Step['variable'], $Step['value'], $reach)
    }
}

# .SYNOPSIS
# Return $true if the machine runs the build with the minimum update; throw build-refused otherwise.
function Test-BuildStep {
    [CmdletBinding()]
    param($Run, $Step)
    $build = Get-RegistryValue $CurrentVersion 'CurrentBuildNumber'
    $revision = [int] (Get-RegistryValue $CurrentVersion 'UBR')
    if ("$build" -ne $Step['build'].Split('.')[-1] -or $revision -lt [int] $Step['minimum_ubr']) {
        $wanted = "$($Step['build']).$([int] $Step['minimum_ubr'])"
        throw (New-Failure 'build-refused' "this is $build.$revision, wanted $wanted or newer of that build")
    }
    $true
}

# .SYNOPSIS
# Return whether the next boot uses the name; request a restart if this boot does not, unless restart is false.
function Test-HostnameStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ((Get-RegistryValue $ComputerName 'ComputerName') -ne $Step['value']) { return $false }
    if ($Step['restart'] -ne $false -and [Environment]::MachineName -ne $Step['value']) { Request-Reboot $Run }
    $true
}

# .SYNOPSIS
# Set the name for the next boot.
function Set-HostnameStep {
    [CmdletBinding()]
    param($Run, $Step)
    [void](Rename-Computer -NewName $Step['value'] -Force)
}

# .SYNOPSIS
# Return the size to which the drive's partition can grow, or 0 if it fills its disk. Get-PartitionSupportedSize takes
# long (AKS avoids it), so it is asked only if the disk has unallocated space.
function Get-PartitionRoom {
    [CmdletBinding()]
    param($Step)
    $partition = Get-Partition -DriveLetter $Step['drive']
    $disk = Get-Disk -Number $partition.DiskNumber
    if ($disk.Size - $disk.AllocatedSize -lt 1GB) { return 0 }
    $most = (Get-PartitionSupportedSize -DriveLetter $Step['drive']).SizeMax
    if ($most - $partition.Size -lt 1GB) { 0 } else { $most }
}

# .SYNOPSIS
# Return whether the partition fills its disk, as far as it can, and its free space was checked.
function Test-PartitionStep {
    [CmdletBinding()]
    param($Run, $Step)
    @((Update-Memory)['drives']) -contains $Step['drive'] -and -not (Get-PartitionRoom $Step)
}

# .SYNOPSIS
# Extend the partition; throw drive-small if its free space is less than planned.
function Set-PartitionStep {
    [CmdletBinding()]
    param($Run, $Step)
    $drive, $most = $Step['drive'], (Get-PartitionRoom $Step)
    if ($most) { Resize-Partition -DriveLetter $drive -Size $most }
    $free = [long] ((Get-Volume -DriveLetter $drive).SizeRemaining / 1MB)
    if ($free -lt $Step['free_mb']) {
        $partition = Get-Partition -DriveLetter $drive
        $sizes = $partition.Size, (Get-Disk -Number $partition.DiskNumber).Size | ForEach-Object { [long] ($_ / 1MB) }
        $what = "${drive}: has $free MiB free and needs $($Step['free_mb'])"
        throw (New-Failure 'drive-small' "$what; its partition has $($sizes[0]) of the $($sizes[1]) MiB of its disk")
    }
    $others = @((Update-Memory)['drives'] | Where-Object { $_ -and $_ -ne $drive })
    [void](Update-Memory @{ drives = $others + $drive })
}

# .SYNOPSIS
# Return the page file in the format of the registry value PagingFiles.
function Get-PageFile {
    [CmdletBinding()]
    param($Step)
    if ($Step['maximum_mb'] -lt $Step['initial_mb']) {
        throw (New-Failure 'step-invalid' 'maximum_mb is less than initial_mb')
    }
    , [string[]] @("C:\pagefile.sys $($Step['initial_mb']) $($Step['maximum_mb'])")
}

# .SYNOPSIS
# Return whether a page file is set on another drive that exists: Azure puts it on the temporary disk.
function Test-OtherPageFile {
    [CmdletBinding()]
    param()
    $lines = Get-RegistryValue $Memory 'PagingFiles'
    foreach ($line in $lines) {
        if ($line -match '^([A-Za-z]):\\' -and $Matches[1] -ne 'C') {
            $root = $Matches[1] + ':\'
            $kind = [IO.DriveInfo]::new($root).DriveType
            if ([IO.Directory]::Exists($root) -and "$kind" -ne 'CDRom') { return $true }
        }
    }
    $false
}

# .SYNOPSIS
# Return whether the page file has its size ("?:\pagefile.sys" would mean: managed by Windows).
function Test-PagefileStep {
    [CmdletBinding()]
    param($Run, $Step)
    (Test-RegistryValue $Memory 'PagingFiles' 'MultiString' (Get-PageFile $Step)) -or
    ($Step['other_drive'] -and (Test-OtherPageFile))
}

# .SYNOPSIS
# Set the size for the next boot.
function Set-PagefileStep {
    [CmdletBinding()]
    param($Run, $Step)
    Request-Reboot $Run
    Set-RegistryValue $Memory 'PagingFiles' 'MultiString' (Get-PageFile $Step)
}

# .SYNOPSIS
# Run a cmdlet; return its last output and the text of its errors, also of one that ended it. Stop it after the timeout,
# which takes a separate runspace.
function Invoke-SlowCmdlet {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name, [hashtable] $Words)
    $shell, $result, $ended = [PowerShell]::Create(), $null, @()
    try {
        $going = $shell.AddCommand($Name).AddParameters($Words).BeginInvoke()
        if (-not $going.AsyncWaitHandle.WaitOne(1000 * (Get-SecondsLeft $Run))) {
            $shell.Stop()
            throw (New-Failure 'step-timeout' "$Name took longer than $($Run.Limit) s")
        }
        try { $result = $shell.EndInvoke($going) | Select-Object -Last 1 }
        catch { $ended = @($_.Exception.GetBaseException().Message) }
        $errors = @($shell.Streams.Error | ForEach-Object { $_.Exception.Message }) + $ended
        $result, (@($errors | Select-Object -Unique) -join '; ')
    }
    finally { $shell.Dispose() }
}

# .SYNOPSIS
# Return whether the feature is installed; request the restart that an installation waits for.
function Test-FeatureStep {
    [CmdletBinding()]
    param($Run, $Step)
    $there = Get-WindowsFeature -Name $Step['feature'] | ForEach-Object { "$($_.InstallState)" }
    if ($there -eq 'InstallPending') { Request-Reboot $Run }
    $there -in 'Installed', 'InstallPending'
}

# .SYNOPSIS
# Install the feature.
function Set-FeatureStep {
    [CmdletBinding()]
    param($Run, $Step)
    $result, $said = Invoke-SlowCmdlet $Run 'Install-WindowsFeature' @{ Name = $Step['feature'] }
    # Windows installs nothing while a restart is pending from before, after an update of the image for example.
    if ($result -and "$($result.ExitCode)" -eq 'FailedRestartRequired') { Set-RebootStep $Run $Step }
    if (-not $result -or -not $result.Success) {
        throw (New-Failure 'feature-failed' "$($Step['feature']): $(if ($result) { $result.ExitCode }) $said".TrimEnd())
    }
    if ("$($result.RestartNeeded)" -ne 'No') { Request-Reboot $Run }
}

# .SYNOPSIS
# Return the exclusions that Defender lacks; none if Defender is not installed or not running.
function Get-MissingExclusion {
    [CmdletBinding()]
    param($Step)
    try { if (-not (Get-MpComputerStatus).AMServiceEnabled) { return @{} } } catch { return @{} }
    $now = Get-MpPreference
    $wanted = @{ ExclusionProcess = @($Step['processes']); ExclusionPath = @($Step['paths']) }
    $missing = @{}
    foreach ($name in $wanted.Keys) {
        $lacks = @($wanted[$name] | Where-Object { $_ -and @($now.$name) -notcontains $_ })
        if ($lacks) { $missing[$name] = $lacks }
    }
    $missing
}

# .SYNOPSIS
# Return whether Defender has all exclusions, or a policy makes it ignore, hide or refuse the machine's own (Microsoft's
# pages about DisableLocalAdminMerge, HideExclusionsFromLocalAdmins and tamper protection; the STIG of Defender demands
# the first two): programs run then too, only slower.
function Test-DefenderExclusionStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ((Get-RegistryValue $DefenderPolicy 'DisableLocalAdminMerge') -eq 1) {
        Write-Said $Run "a policy lets Defender ignore exclusions of this machine: add those of $($Step['name']) to it"
        return $true
    }
    if (-not (Get-MissingExclusion $Step).Count) { return $true }
    $hidden = @((Get-MpPreference).ExclusionProcess) -like 'N/A:*'
    if (-not $Run.Done.ContainsKey($Step['name'])) { return $Run.Checking -and [bool] $hidden }
    $why = if ($hidden) { 'hides its exclusions' } else { 'takes no exclusions' }
    Write-Said $Run "Defender $why, those of $($Step['name']) may be missing $($Run.Done[$Step['name']])".TrimEnd()
    $true
}

# .SYNOPSIS
# Add the missing exclusions. Accept the second refusal.
function Set-DefenderExclusionStep {
    [CmdletBinding()]
    param($Run, $Step)
    $missing, $refused, $why = (Get-MissingExclusion $Step), "$($Step['name']) was refused", ''
    try { Add-MpPreference @missing }
    catch {
        if (-not $Run.Done[$refused]) { $Run.Done[$refused] = $true; throw }
        $why = "($($_.Exception.GetBaseException().Message))"
    }
    $Run.Done[$Step['name']] = $why
}

# .SYNOPSIS
# Return whether the user is disabled or does not exist.
function Test-LocalUserStep {
    [CmdletBinding()]
    param($Run, $Step)
    @(Get-LocalUser | Where-Object { $_.Name -eq $Step['user'] -and $_.Enabled }).Count -eq 0
}

# .SYNOPSIS
# Disable the user.
function Set-LocalUserStep {
    [CmdletBinding()]
    param($Run, $Step)
    Disable-LocalUser -Name $Step['user']
}
