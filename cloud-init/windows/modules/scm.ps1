# The service control manager, called through winsvc.h: sc.exe cannot quote every command line.

$ScmOwn = 0x10                       # winnt.h: SERVICE_WIN32_OWN_PROCESS
$ScmError = 1                        # SERVICE_ERROR_NORMAL
$ScmAccess = 0xF01FF                 # SERVICE_ALL_ACCESS
$ScmManager = 0x3                    # SC_MANAGER_CONNECT, SC_MANAGER_CREATE_SERVICE
$ScmInfo = @{ description = 1; failure = 2; flag = 4 }    # SERVICE_CONFIG_DESCRIPTION and so on
$ScmType = $null

# .SYNOPSIS
# Return the type with the service functions of advapi32.
function Get-ScmType {
    [CmdletBinding()]
    param()
    if ($script:ScmType) { return $script:ScmType }
    $handle, $text, $number = [IntPtr], [string], [uint32]
    $script:ScmType = New-NativeType 'Mullion.Scm' 'advapi32.dll' @{
        OpenSCManagerW        = $handle, @($text, $text, $number)
        OpenServiceW          = $handle, @($handle, $text, $number)
        CloseServiceHandle    = [bool], @(, $handle)
        ChangeServiceConfig2W = [bool], @($handle, $number, $handle)
        CreateServiceW        = $handle, @($handle, $text, $text, $number, $number, $number, $number, $text, $text,
            $handle, $text, $text, $text)
        ChangeServiceConfigW  = [bool], @($handle, $number, $number, $number, $text, $text, $handle, $text, $text,
            $text, $text)
    }
    $script:ScmType
}

# .SYNOPSIS
# Create the service, or set the command line and dependencies of an existing one.
function Set-ScmService {
    [CmdletBinding()]
    param(
        [string] $Name, [string] $Command, [string[]] $Depends, [string] $Description, [int] $RestartSeconds,
        [int] $Start
    )
    $scm, $none, $same = (Get-ScmType), [NullString]::Value, [IntPtr]::Zero
    $manager = $scm::OpenSCManagerW($none, $none, $ScmManager)
    $service = $same
    # A list of strings, each with a final zero; an empty list removes older dependencies.
    $list = (@($Depends | ForEach-Object { "$_`0" }) -join '') + "`0"
    try {
        $service = $scm::OpenServiceW($manager, $Name, $ScmAccess)
        if ($service -ne $same) {
            $done = $scm::ChangeServiceConfigW($service, $ScmOwn, $Start, $ScmError, $Command, $none, $same,
                $list, $none, $none, $none)
        }
        else {
            $service = $scm::CreateServiceW($manager, $Name, $Name, $ScmAccess, $ScmOwn, $Start, $ScmError,
                $Command, $none, $same, $list, $none, $none)
            $done = $service -ne $same
        }
        if (-not $done) { throw (New-Failure 'service-failed' "Windows refuses the service $Name with $Command") }
        Set-ScmDescription $service $Description
        Set-ScmRestart $service $RestartSeconds
    }
    finally { foreach ($each in $service, $manager) { if ($each -ne $same) { [void]$scm::CloseServiceHandle($each) } } }
}

# .SYNOPSIS
# Set the start type of an existing service and leave everything else.
function Set-ScmStart {
    [CmdletBinding()]
    param([string] $Name, [uint32] $Start)
    $scm, $none, $same, $kept = (Get-ScmType), [NullString]::Value, [IntPtr]::Zero, [uint32]::MaxValue
    $manager = $scm::OpenSCManagerW($none, $none, $ScmManager)
    $service = $scm::OpenServiceW($manager, $Name, $ScmAccess)
    try {
        if (-not $scm::ChangeServiceConfigW($service, $kept, $Start, $kept, $none, $none, $same, $none, $none, $none,
                $none)) { throw (New-Failure 'service-failed' "Windows refuses to change the start type of $Name") }
    }
    finally { foreach ($each in $service, $manager) { if ($each -ne $same) { [void]$scm::CloseServiceHandle($each) } } }
}

# .SYNOPSIS
# Set the description (SERVICE_DESCRIPTIONW: one pointer to a string).
function Set-ScmDescription {
    [CmdletBinding()]
    param([IntPtr] $Service, [string] $Text)
    $words = [Runtime.InteropServices.Marshal]::StringToHGlobalUni($Text)
    $info = [Runtime.InteropServices.Marshal]::AllocHGlobal([IntPtr]::Size)
    try {
        [Runtime.InteropServices.Marshal]::WriteIntPtr($info, $words)
        [void](Get-ScmType)::ChangeServiceConfig2W($Service, $ScmInfo.description, $info)
    }
    finally { foreach ($each in $words, $info) { [Runtime.InteropServices.Marshal]::FreeHGlobal($each) } }
}

# .SYNOPSIS
# Set the failure action (SERVICE_FAILURE_ACTIONSW): always restart after Seconds, also after an exit with an error.
function Set-ScmRestart {
    [CmdletBinding()]
    param([IntPtr] $Service, [int] $Seconds)
    $info = [Runtime.InteropServices.Marshal]::AllocHGlobal(64)
    try {
        # On 64 bits: reset period at 0, two texts at 8 and 16, number of actions at 24, their address at 32; the one
        # action (type 1: restart, milliseconds) follows.
        foreach ($place in 0, 8, 16, 24, 32, 40) { [Runtime.InteropServices.Marshal]::WriteInt64($info, $place, 0) }
        [Runtime.InteropServices.Marshal]::WriteInt32($info, 24, 1)
        [Runtime.InteropServices.Marshal]::WriteIntPtr($info, 32, [IntPtr]::Add($info, 40))
        [Runtime.InteropServices.Marshal]::WriteInt32($info, 40, 1)
        [Runtime.InteropServices.Marshal]::WriteInt32($info, 44, 1000 * $Seconds)
        if (-not (Get-ScmType)::ChangeServiceConfig2W($Service, $ScmInfo.failure, $info)) {
            throw (New-Failure 'service-failed' 'Windows refuses the failure actions')
        }
        [Runtime.InteropServices.Marshal]::WriteInt32($info, 0, 1)
        [void](Get-ScmType)::ChangeServiceConfig2W($Service, $ScmInfo.flag, $info)
    }
    finally { [Runtime.InteropServices.Marshal]::FreeHGlobal($info) }
}
