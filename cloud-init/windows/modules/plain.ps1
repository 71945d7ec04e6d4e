# Replacements for functions of Windows libraries that use only programs of Windows: for machines whose security
# software blocks those functions in scripts.

$NativeBlocked = $null

# Security software may refuse the whole file native.ps1 (load-modules.ps1).
if (-not (Test-Path 'Function:\New-NativeType')) {
    # .SYNOPSIS
    # Throw code-blocked, in place of the function in native.ps1.
    function New-NativeType {
        [CmdletBinding()]
        param([string] $Name, [string] $Library, [hashtable] $Functions)
        throw (New-Failure 'code-blocked' "no functions of ${Library}: native.ps1 was refused")
    }
}

# .SYNOPSIS
# Return whether security software blocks functions of Windows libraries; tried once, with the type that every program
# needs. It may also refuse the whole file scm.ps1.
function Test-NativeBlocked {
    [CmdletBinding()]
    param()
    if ($null -eq $script:NativeBlocked) {
        try { $script:NativeBlocked = -not ((Test-Path 'Function:\Get-ScmType') -and (Get-JobType)) }
        catch { $script:NativeBlocked = $true }
    }
    $script:NativeBlocked
}

# .SYNOPSIS
# Create the service, or create an existing one again: sc.exe cannot quote every command line, New-Service can.
function Set-PlainService {
    [CmdletBinding()]
    param(
        [hashtable] $Run, [string] $Name, [string] $Command, [string[]] $Depends, [string] $Description,
        [int] $RestartSeconds, [int] $Start
    )
    if (Get-ServiceState $Name) {
        Invoke-ServiceControl 'delete', $Name
        while (Get-ServiceState $Name) {
            if ($Run.Watch.Elapsed.TotalSeconds -gt $Run.Limit) {
                throw (New-Failure 'service-failed' "$Name is deleted, and something still holds it open")
            }
            Start-Sleep -Milliseconds 250
        }
    }
    $service = @{
        Name = $Name; BinaryPathName = $Command; DisplayName = $Name
        StartupType = if ($Start -eq 3) { 'Manual' } else { 'Automatic' }
    }
    if (@($Depends | Where-Object { $_ })) { $service['DependsOn'] = $Depends }
    if ($Description) { $service['Description'] = $Description }
    try { [void](New-Service @service) }
    catch { throw (New-Failure 'service-failed' "${Name}: $($_.Exception.GetBaseException().Message)") }
    Invoke-ServiceControl 'failure', $Name, 'reset=', '0', 'actions=', "restart/$(1000 * $RestartSeconds)"
    Invoke-ServiceControl 'failureflag', $Name, '1'
}

# .SYNOPSIS
# Set the start type of an existing service (2: at boot, 4: disabled).
function Set-StartType {
    [CmdletBinding()]
    param([string] $Name, [int] $Start)
    if (-not (Test-NativeBlocked)) { return Set-ScmStart $Name $Start }
    Invoke-ServiceControl 'config', $Name, 'start=', $(if ($Start -eq 4) { 'disabled' } else { 'auto' })
}

# .SYNOPSIS
# Run sc.exe; throw service-failed if it fails.
function Invoke-ServiceControl {
    [CmdletBinding()]
    param([string[]] $Words)
    $said = & sc.exe @Words
    if ($LASTEXITCODE) { throw (New-Failure 'service-failed' "sc.exe $($Words -join ' '): $($said -join ' ')") }
}
