# Functions that the sandbox runs on a real Windows Server, in Windows PowerShell 5.1. No stand-ins of Windows there.
$Sandbox, $Task = 'C:\Program Files\sandbox', 'sandbox-launch'

# .SYNOPSIS
# Give a network card the machine's planned address (persistent), a route to the metadata service, and the network's
# name server. An address that Windows already has, perhaps on a virtual switch of HNS, stays where it is.
function Set-Card {
    [CmdletBinding()]
    param([string] $Card, [string] $Address, [int] $Bits, [string] $Gateway, [string] $Resolver)
    $ipv4 = @{ InterfaceAlias = $Card; AddressFamily = 'IPv4' }
    if (-not (Get-NetIPAddress -IPAddress $Address -ErrorAction SilentlyContinue)) {
        # DHCP first: with it, a card without a cable takes no persistent address. The lowest metric: before other cards
        Set-NetIPInterface @ipv4 -Dhcp Disabled -InterfaceMetric 1
        Get-NetIPAddress @ipv4 -ErrorAction SilentlyContinue | Remove-NetIPAddress -Confirm:$false
        Get-NetRoute @ipv4 -DestinationPrefix '0.0.0.0/0' -ErrorAction SilentlyContinue | Remove-NetRoute -Confirm:$false
        [void](New-NetIPAddress @ipv4 -IPAddress $Address -PrefixLength $Bits -DefaultGateway $Gateway)
    }
    $holder = @(Get-NetIPAddress -IPAddress $Address)[0].InterfaceAlias
    Set-DnsClientServerAddress -InterfaceAlias $holder -ServerAddresses $Resolver
    $metadata = '169.254.169.254/32'
    if (-not (Get-NetRoute -DestinationPrefix $metadata -ErrorAction SilentlyContinue)) {
        [void](New-NetRoute -InterfaceAlias $holder -DestinationPrefix $metadata -NextHop $Gateway)
    }
}

# .SYNOPSIS
# Forward an address of the loopback interface to the container runtime (netsh portproxy).
function Set-Runtime {
    [CmdletBinding()]
    param([string] $Listen, [string] $Connect)
    $from, $to = $Listen.Split(':'), $Connect.Split(':')
    $rule = "listenaddress=$($from[0])", "listenport=$($from[1])", "connectaddress=$($to[0])", "connectport=$($to[1])"
    $said = netsh.exe interface portproxy add v4tov4 @rule
    if ($LASTEXITCODE) { throw "netsh ended with ${LASTEXITCODE}: $said" }
}

# .SYNOPSIS
# Register a task that runs user-data as SYSTEM at each boot, as a cloud's agent does, and start it now.
function Register-Launch {
    [CmdletBinding()]
    param([string] $Command)
    if (Get-ScheduledTask -TaskName $Task -ErrorAction SilentlyContinue) { return }
    $script = "Import-Module '$Sandbox\modules\boot\boot.psm1'", "& { try { Wait-Metadata; $Command } catch { `"`$_`" } }"
    [IO.File]::WriteAllText("$Sandbox\launch.ps1", "$($script -join "`r`n") *> '$Sandbox\launch.log'`r`n")
    $words = "-NoProfile -NonInteractive -ExecutionPolicy Bypass -File `"$Sandbox\launch.ps1`""
    $registered = @{
        TaskName = $Task
        Action = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument $words
        Trigger = New-ScheduledTaskTrigger -AtStartup
        Principal = New-ScheduledTaskPrincipal -UserId 'SYSTEM' -LogonType ServiceAccount -RunLevel Highest
        Settings = New-ScheduledTaskSettingsSet -ExecutionTimeLimit ([TimeSpan]::Zero) -MultipleInstances IgnoreNew
    }
    [void](Register-ScheduledTask @registered)
    Start-ScheduledTask -TaskName $Task
}

# .SYNOPSIS
# Write a file unless it exists.
function Add-File {
    [CmdletBinding()]
    param([string] $Path, [string] $Base64)
    if ([IO.File]::Exists($Path)) { return }
    [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($Path))
    [IO.File]::WriteAllBytes($Path, [Convert]::FromBase64String($Base64))
}

# .SYNOPSIS
# Return a file's bytes as base64.
function Get-File {
    [CmdletBinding()]
    param([string] $Path)
    [Convert]::ToBase64String([IO.File]::ReadAllBytes($Path))
}

# .SYNOPSIS
# Return the logs of the task that runs user-data, of the loader and of the executor.
function Get-Log {
    [CmdletBinding()]
    param()
    foreach ($each in "$Sandbox\launch.log", 'C:\ProgramData\mullion\*.log') {
        Get-ChildItem $each -ErrorAction SilentlyContinue | Sort-Object Name | ForEach-Object {
            $stream = [IO.File]::Open($_.FullName, 'Open', 'Read', 'ReadWrite')
            try { [IO.StreamReader]::new($stream).ReadToEnd() } finally { $stream.Dispose() }
        }
    }
}

# .SYNOPSIS
# Run a program and exit with its exit code; with 124 if it exceeds the time limit.
function Invoke-Program {
    [CmdletBinding()]
    param([string] $Path, [string] $Arguments, [int] $Seconds)
    $start = New-Object Diagnostics.ProcessStartInfo $Path, $Arguments
    $start.UseShellExecute = $false
    $running = [Diagnostics.Process]::Start($start)
    if ($running.WaitForExit(1000 * $Seconds)) { exit $running.ExitCode }
    $running.Kill()
    exit 124
}

# .SYNOPSIS
# Return the metadata service's answer for a path as base64.
function Get-Metadata {
    [CmdletBinding()]
    param([string] $Path, [string] $Method, [hashtable] $Headers)
    $asked = @{ Uri = "http://169.254.169.254$Path"; Method = $Method; Headers = $Headers; UseBasicParsing = $true }
    [Convert]::ToBase64String((Invoke-WebRequest @asked).RawContentStream.ToArray())
}
