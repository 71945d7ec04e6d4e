# Takes away what belongs to one node or one cluster, as bake.json lists it: no image may hold it, and no clone may
# think that it is somebody else. What image phases made stays: programs, pulled images, settings.
[CmdletBinding()]
param()
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot\..\loader.ps1" -Functions
foreach ($folder in 'modules', 'kinds') {
    foreach ($file in [IO.Directory]::GetFiles("$PSScriptRoot\..\$folder", '*.ps1')) { . $file }
}

$HnsBooks = "$env:ProgramData\Microsoft\Windows\HNS\HNS.data"    # networks and endpoints that outlive a restart

# .SYNOPSIS
# Empties a folder. What is kept stays with all in it; folders that stay lose what they hold.
function Clear-Folder {
    [CmdletBinding()]
    param([string] $Path, [string[]] $Kept, [string[]] $Stays)
    if (-not [IO.Directory]::Exists($Path)) { return }
    foreach ($file in [IO.Directory]::GetFiles($Path)) { if ($file -notin $Kept) { [IO.File]::Delete($file) } }
    foreach ($folder in [IO.Directory]::GetDirectories($Path)) {
        if ($folder -in $Kept) { continue }
        # Behind a link lies what is not ours.
        $link = [IO.File]::GetAttributes($folder) -band [IO.FileAttributes]::ReparsePoint
        if (-not $link) { Clear-Folder $folder $Kept $Stays }
        if ($folder -notin $Stays -and -not [IO.Directory]::GetFileSystemEntries($folder)) {
            [IO.Directory]::Delete($folder)
        }
        elseif ($link) { [IO.Directory]::Delete($folder) }
    }
}

# .SYNOPSIS
# Stops a service, and those that need it, if it is there and runs.
function Stop-AnyService {
    [CmdletBinding()]
    param([string] $Name)
    $run = @{ Watch = [Diagnostics.Stopwatch]::StartNew(); Limit = 120 }
    if ((Get-ServiceState $Name) -notin '', 'Stopped') { Stop-PlannedService $run $Name }
}

$remove = (Read-Json "$PSScriptRoot\..\bake.json")['remove']
foreach ($name in $remove['services']) {
    if (-not (Get-ServiceState $name)) { continue }
    Stop-AnyService $name
    & sc.exe delete $name
    if ($LASTEXITCODE) { throw "the service $name cannot be deleted: sc.exe ended with $LASTEXITCODE" }
}
foreach ($name in $remove['stopped']) { Stop-AnyService $name }
foreach ($name in $remove['tasks']) { Unregister-ScheduledTask -TaskName $name -Confirm:$false -ErrorAction Ignore }
foreach ($name in $remove['rules']) { Remove-NetFirewallRule -Name $name -ErrorAction Ignore }
Stop-AnyService 'hns'
foreach ($file in @($remove['files']) + $HnsBooks) {
    try { [IO.File]::Delete($file) } catch [IO.DirectoryNotFoundException] { [void] 'it is not there' }
}
# What the executor remembers of services that stay, and nothing else.
$started = (Update-Memory)['started']
$memory = [ordered] @{}
if ($started) { foreach ($name in $remove['stopped']) { if ($started[$name]) { $memory[$name] = $started[$name] } } }
Set-WholeFile "$State\state.json" $Utf8.GetBytes((ConvertTo-JsonText ([ordered] @{ started = $memory })))
foreach ($folder in $remove['folders']) { Clear-Folder $folder $remove['kept'] $remove['stays'] }
# The loader's own, but for this bundle, should it lie there.
$own = [IO.Path]::GetFullPath("$PSScriptRoot\..")
Clear-Folder $Mullion @($own) @([IO.Path]::GetDirectoryName($own))
