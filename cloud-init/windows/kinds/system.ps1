# Settings and parts of Windows: variables, build, host name, page file, features, Defender, users.

$CurrentVersion = 'HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion'
$ComputerName = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName'
$Memory = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management'

# .SYNOPSIS
# Whether the machine's variable has the value.
function Test-EnvironmentStep {
    [CmdletBinding()]
    param($Run, $Step)
    [Environment]::GetEnvironmentVariable($Step['variable'], 'Machine') -ceq $Step['value']
}

# .SYNOPSIS
# Sets the variable for processes from now on, this one and its children included.
function Set-EnvironmentStep {
    [CmdletBinding()]
    param($Run, $Step)
    foreach ($reach in 'Machine', 'Process') {
        [Environment]::SetEnvironmentVariable($Step['variable'], $Step['value'], $reach)
    }
}

# .SYNOPSIS
# The machine runs the build; anything else ends the run.
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
# The name for the next boot; one that this boot does not use yet asks for a restart, unless the step says no.
function Test-HostnameStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ((Get-RegistryValue $ComputerName 'ComputerName') -ne $Step['value']) { return $false }
    if ($Step['restart'] -ne $false -and [Environment]::MachineName -ne $Step['value']) { Request-Reboot $Run }
    $true
}

# .SYNOPSIS
# Names the machine for the next boot.
function Set-HostnameStep {
    [CmdletBinding()]
    param($Run, $Step)
    [void](Rename-Computer -NewName $Step['value'] -Force)
}

# .SYNOPSIS
# The page file that Windows is told to make, as its own setting says it.
function Get-PageFile {
    [CmdletBinding()]
    param($Step)
    if ($Step['maximum_mb'] -lt $Step['initial_mb']) {
        throw (New-Failure 'step-invalid' 'maximum_mb is less than initial_mb')
    }
    , [string[]] @("C:\pagefile.sys $($Step['initial_mb']) $($Step['maximum_mb'])")
}

# .SYNOPSIS
# Whether the page file has its size; "?:\pagefile.sys" would leave it to Windows.
function Test-PagefileStep {
    [CmdletBinding()]
    param($Run, $Step)
    Test-RegistryValue $Memory 'PagingFiles' 'MultiString' (Get-PageFile $Step)
}

# .SYNOPSIS
# Sets the size for the next boot.
function Set-PagefileStep {
    [CmdletBinding()]
    param($Run, $Step)
    Request-Reboot $Run
    Set-RegistryValue $Memory 'PagingFiles' 'MultiString' (Get-PageFile $Step)
}

# .SYNOPSIS
# What a cmdlet of Windows returns; one that takes too long is stopped, which it allows only in a runspace of its own.
function Invoke-SlowCmdlet {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name, [hashtable] $Words)
    $shell = [PowerShell]::Create()
    try {
        $going = $shell.AddCommand($Name).AddParameters($Words).BeginInvoke()
        if (-not $going.AsyncWaitHandle.WaitOne(1000 * (Get-SecondsLeft $Run))) {
            $shell.Stop()
            throw (New-Failure 'step-timeout' "$Name took longer than $($Run.Limit) s")
        }
        $shell.EndInvoke($going)
    }
    finally { $shell.Dispose() }
}

# .SYNOPSIS
# Whether the feature is installed; one that waits for a restart asks for it.
function Test-FeatureStep {
    [CmdletBinding()]
    param($Run, $Step)
    $there = Get-WindowsFeature -Name $Step['feature'] | ForEach-Object { "$($_.InstallState)" }
    if ($there -eq 'InstallPending') { Request-Reboot $Run }
    $there -in 'Installed', 'InstallPending'
}

# .SYNOPSIS
# Installs the feature.
function Set-FeatureStep {
    [CmdletBinding()]
    param($Run, $Step)
    try { $result = @(Invoke-SlowCmdlet $Run 'Install-WindowsFeature' @{ Name = $Step['feature'] })[0] }
    catch {
        if ($_.Exception.Data.Contains('mullion')) { throw }
        throw (New-Failure 'feature-failed' "$($Step['feature']): $($_.Exception.GetBaseException().Message)")
    }
    if (-not $result -or -not $result.Success) {
        throw (New-Failure 'feature-failed' "$($Step['feature']): $(if ($result) { $result.ExitCode })")
    }
    if ("$($result.RestartNeeded)" -ne 'No') { Request-Reboot $Run }
}

# .SYNOPSIS
# What Defender does not leave alone yet. Where it is not there or does not run, there is nothing to say to it.
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
# Whether Defender leaves all of them alone.
function Test-DefenderExclusionStep {
    [CmdletBinding()]
    param($Run, $Step)
    (Get-MissingExclusion $Step).Count -eq 0
}

# .SYNOPSIS
# Adds what is missing.
function Set-DefenderExclusionStep {
    [CmdletBinding()]
    param($Run, $Step)
    $missing = Get-MissingExclusion $Step
    Add-MpPreference @missing
}

# .SYNOPSIS
# Whether nobody can sign in as the user.
function Test-LocalUserStep {
    [CmdletBinding()]
    param($Run, $Step)
    @(Get-LocalUser | Where-Object { $_.Name -eq $Step['user'] -and $_.Enabled }).Count -eq 0
}

# .SYNOPSIS
# Disables the user.
function Set-LocalUserStep {
    [CmdletBinding()]
    param($Run, $Step)
    Disable-LocalUser -Name $Step['user']
}
