# First contact of Mullion with a Windows Server: copy this one file to the machine, run it as an administrator.
#   powershell.exe -ExecutionPolicy Bypass -File first-contact.ps1
#       tests only: changes nothing outside C:\first-contact
#   powershell.exe -ExecutionPolicy Bypass -File first-contact.ps1 -Change
#       only for a machine that may be thrown away: also sets every step that needs no cluster, restarts the machine
#       once, creates HNS networks of both modes and removes them
#   powershell.exe -ExecutionPolicy Bypass -File first-contact.ps1 -Undo
#       undoes the changes
# The result is C:\first-contact\first-contact.zip, redacted. `mullion first-contact --read FILE` shows it.
[CmdletBinding()]
param([switch] $Change, [switch] $Undo)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$Contact = 'C:\first-contact'
$Digest = '<digest>'
$Always = $false    # mullion first-contact --change: as user-data, which has no -Change
$Scripts = @'
<scripts>
'@

$me = [Security.Principal.WindowsPrincipal]::new([Security.Principal.WindowsIdentity]::GetCurrent())
if (-not $me.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
    [Console]::Error.WriteLine('first-contact: start PowerShell with "Run as administrator"')
    exit 1
}
if ($Undo) {
    if (-not [IO.File]::Exists("$Contact\undo.ps1")) {
        [Console]::Error.WriteLine("first-contact: there is no $Contact\undo.ps1: nothing was changed")
        exit 1
    }
    & "$Contact\undo.ps1"
    exit 0
}
if ([IO.Directory]::Exists("$Contact\hung")) {    # a query that did not return ended the run: write what it found
    & "$Contact\scripts\contact\run.ps1"
    exit $LASTEXITCODE
}
if ([IO.File]::Exists("$Contact\progress.json")) {
    # clouds run a start script at every boot; after a run that only tested, -Change starts from the beginning
    $asked = (ConvertFrom-Json ([IO.File]::ReadAllText("$Contact\progress.json"))).change -eq $false
    if (-not ($asked -and $Change)) {
        [Console]::WriteLine("first-contact: it ran here already, see $Contact; to run it again, remove that folder")
        exit 0
    }
    [IO.File]::Delete("$Contact\progress.json")
}
$bytes = [Convert]::FromBase64String($Scripts)
$found = [BitConverter]::ToString([Security.Cryptography.SHA256]::Create().ComputeHash($bytes)).Replace('-', '')
if ($found -ne $Digest) {
    [Console]::Error.WriteLine("first-contact: this file was changed on its way: its scripts have sha256 $found")
    exit 1
}
Add-Type -AssemblyName System.IO.Compression
$zip = [IO.Compression.ZipArchive]::new([IO.MemoryStream]::new($bytes))
foreach ($entry in $zip.Entries) {
    $path = "$Contact\scripts\$($entry.FullName.Replace('/', '\'))"
    [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($path))
    $file, $stream = [IO.File]::Create($path), $entry.Open()
    try { $stream.CopyTo($file) } finally { $file.Dispose() }
}
[IO.File]::WriteAllBytes("$Contact\scripts.zip", $bytes)
& "$Contact\scripts\contact\run.ps1" -Change:($Change -or $Always)
exit $LASTEXITCODE
