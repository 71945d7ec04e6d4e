# Parts of Windows: features, dynamic ports, Defender, users, the firewall as a whole.

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
# Start and count of the dynamic ports.
function Get-PortRange {
    [CmdletBinding()]
    param([string] $Protocol)
    # The words are in the system's language; the two numbers are not.
    $shown = & netsh.exe int ipv4 show dynamicportrange $Protocol | Out-String
    @([regex]::Matches($shown, ':\s*(\d+)') | ForEach-Object { [int] $_.Groups[1].Value })
}

# .SYNOPSIS
# Whether the dynamic ports lie in the range.
function Test-PortRangeStep {
    [CmdletBinding()]
    param($Run, $Step)
    (Get-PortRange $Step['protocol']) -join ' ' -eq "$($Step['start']) $($Step['count'])"
}

# .SYNOPSIS
# Moves the dynamic ports.
function Set-PortRangeStep {
    [CmdletBinding()]
    param($Run, $Step)
    if ($Step['start'] + $Step['count'] -gt 65536) {
        throw (New-Failure 'step-invalid' "$($Step['count']) ports from $($Step['start']) go beyond 65535")
    }
    $words = $Step['protocol'], "start=$($Step['start'])", "num=$($Step['count'])"
    $said = & netsh.exe int ipv4 set dynamicportrange @words
    if ($LASTEXITCODE) { throw (New-Failure 'command-failed' "netsh: $said") }
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
# Whether the firewall is on in all profiles and lets nothing in by itself.
function Test-FirewallProfilesStep {
    [CmdletBinding()]
    param($Run, $Step)
    $open = @(Get-NetFirewallProfile | Where-Object {
            "$($_.Enabled)" -ne 'True' -or "$($_.DefaultInboundAction)" -eq 'Allow' })
    $open.Count -eq 0
}

# .SYNOPSIS
# Switches it on.
function Set-FirewallProfilesStep {
    [CmdletBinding()]
    param($Run, $Step)
    Set-NetFirewallProfile -Profile 'Domain', 'Private', 'Public' -Enabled 'True' -DefaultInboundAction 'Block'
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
