# The boot of a Windows machine: the kernel's part, and the agents of the clouds that run user-data. State that tests
# read after a restart is two folders above this file: C:\fakes, if the module is beside the other stand-ins.
$Boots = 'HKEY_LOCAL_MACHINE\SOFTWARE\mullion-boot'    # sandbox/boot/windows/winpwsh.py says why it stays
$Launched = [IO.Path]::GetFullPath("$PSScriptRoot\..\..\launched.txt")

# .SYNOPSIS
# Do the kernel's part of a boot: give it another number, finish installations that waited for it, and apply the new computer name.
function Start-Windows {
    [CmdletBinding()]
    param()
    [Microsoft.Win32.Registry]::SetValue($Boots, 'Id', 1 + [Microsoft.Win32.Registry]::GetValue($Boots, 'Id', 0), 'DWord')
    $features = 'C:\fakes\features.json'
    if ([IO.File]::Exists($features)) {
        [IO.File]::WriteAllText($features, [IO.File]::ReadAllText($features).Replace('InstallPending', 'Installed'))
    }
}

# .SYNOPSIS
# Return an answer of the metadata service as text.
function Get-Told {
    [CmdletBinding()]
    param([string] $Path, [hashtable] $Headers, [string] $Method = 'Get')
    $asked = @{ Method = $Method; Uri = "http://169.254.169.254/$Path"; Headers = $Headers; UseBasicParsing = $true }
    [Text.Encoding]::UTF8.GetString((Invoke-WebRequest @asked).RawContentStream.ToArray())
}

# .SYNOPSIS
# Wait until the metadata service accepts connections, at most ten minutes, as the clouds' own agents do.
function Wait-Metadata {
    [CmdletBinding()]
    param()
    $watch = [Diagnostics.Stopwatch]::StartNew()
    while ($watch.Elapsed.TotalMinutes -lt 10) {
        $client = [Net.Sockets.TcpClient]::new()
        try { if ($client.ConnectAsync('169.254.169.254', 80).Wait(2000)) { return } }
        catch { Start-Sleep -Seconds 1 }
        finally { $client.Dispose() }
    }
}

# .SYNOPSIS
# Run user-data at a boot as EC2Launch does: the script from the metadata service, once in the machine's life unless it
# says persist. v1 marks it as done, then dot-sources it; v2 runs it as a file, then marks it.
# Sources: EC2 user guide, "Configure EC2Launch", "EC2Launch v2 task definitions" (executeScript), "Run commands when
# you launch an EC2 instance": the tags powershell, script, persist, runAsLocalSystem, detach, powershellArguments.
function Start-Ec2Launch {
    [CmdletBinding()]
    param([ValidateSet('v1', 'v2')] [string] $Version)
    $folder = [IO.Directory]::CreateDirectory('C:\ProgramData\Amazon\EC2Launch\state').FullName
    $mark = "$folder\.run-once"
    $seconds = @{ 'X-aws-ec2-metadata-token-ttl-seconds' = '60' }
    try {
        $token = Get-Told 'latest/api/token' $seconds 'Put'
        $text = Get-Told 'latest/user-data' @{ 'X-aws-ec2-metadata-token' = $token }
    }
    catch {
        # no network (the cable is out): tasks that an earlier boot registered still run
        if ([IO.File]::Exists($mark)) { return }
        throw
    }
    $blocks = [regex]::Matches($text, '(?s)<powershell>(.*?)</powershell>')
    if ($blocks.Count -ne 1) { throw "the user-data has $($blocks.Count) <powershell> elements" }
    $rest = $text.Replace($blocks[0].Value, '')
    foreach ($tag in [regex]::Matches($rest, '<(\w+)>')) {
        if ($tag.Groups[1].Value -ne 'persist') { throw "the user-data has $($tag.Value), which these tests do not know" }
    }
    if ([IO.File]::Exists($mark) -and $rest -notmatch '<persist>\s*true\s*</persist>') { return }
    [IO.File]::AppendAllText($Launched, "$Version`n")
    $places = @{ v1 = 'C:\Windows\TEMP'; v2 = 'C:\Windows\system32\config\systemprofile\AppData\Local\Temp\EC2Launch1' }
    $script = "$([IO.Directory]::CreateDirectory($places[$Version]).FullName)\UserScript.ps1"
    [IO.File]::WriteAllText($script, $blocks[0].Groups[1].Value.TrimStart())
    if ($Version -eq 'v1') {
        [IO.File]::WriteAllText($mark, '')
        . $script
    }
    else {
        & $script
        [IO.File]::WriteAllText($mark, '')
    }
}

# .SYNOPSIS
# Run user-data as Google's agent does: the script in the metadata windows-startup-script-ps1, as a file, at every boot.
# Source: Compute Engine, "Use startup scripts on Windows VMs".
function Start-MetadataScript {
    [CmdletBinding()]
    param()
    $key = 'windows-startup-script-ps1'
    try { $text = Get-Told "computeMetadata/v1/instance/attributes/$key" @{ 'Metadata-Flavor' = 'Google' } }
    catch {
        # no network (the cable is out): tasks that an earlier boot registered still run
        if ([IO.File]::Exists($Launched)) { return }
        throw
    }
    [IO.File]::AppendAllText($Launched, "gcp`n")
    $script = "$([IO.Directory]::CreateDirectory('C:\Windows\TEMP\metadata-scripts').FullName)\$key.ps1"
    [IO.File]::WriteAllText($script, $text)
    & $script
}

# .SYNOPSIS
# Run the command of a custom script extension as Azure's agent does: once for its settings, not again after a restart.
# Source: Azure, "Custom Script Extension for Windows", tips.
function Start-CustomScript {
    [CmdletBinding()]
    param([string] $Command)
    $status = 'C:\Packages\Plugins\Microsoft.Compute.CustomScriptExtension\1.10\Status\0.status'
    if ([IO.File]::Exists($status)) { return }
    [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($status))
    [IO.File]::WriteAllText($status, '[]')
    & ([ScriptBlock]::Create($Command))
}

Export-ModuleMember -Function *
