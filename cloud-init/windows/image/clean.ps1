# Removes what belongs to one node or one cluster, as listed in bake.json: a clone must not use another node's identity
# or state. Results of the image phases stay: programs, pulled images, settings.
[CmdletBinding()]
param()
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot\..\loader.ps1" -Functions
. "$PSScriptRoot\..\load-modules.ps1"

$HnsBooks = "$env:ProgramData\Microsoft\Windows\HNS\HNS.data"    # networks and endpoints, kept over a restart

# .SYNOPSIS
# Empty a folder. Kept leaves whole folders and files; Stays leaves folders but empties them.
function Clear-Folder {
    [CmdletBinding()]
    param([string] $Path, [string[]] $Kept, [string[]] $Stays)
    if (-not [IO.Directory]::Exists($Path)) { return }
    foreach ($file in [IO.Directory]::GetFiles($Path)) { if ($file -notin $Kept) { [IO.File]::Delete($file) } }
    foreach ($folder in [IO.Directory]::GetDirectories($Path)) {
        if ($folder -in $Kept) { continue }
        # A link's target may be another program's.
        $link = [IO.File]::GetAttributes($folder) -band [IO.FileAttributes]::ReparsePoint
        if (-not $link) { Clear-Folder $folder $Kept $Stays }
        if ($folder -notin $Stays -and -not [IO.Directory]::GetFileSystemEntries($folder)) {
            [IO.Directory]::Delete($folder)
        }
        elseif ($link) { [IO.Directory]::Delete($folder) }
    }
}

# .SYNOPSIS
# Stop a service and its dependent services if it runs.
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
# Keep only what the executor remembers of services that stay, and of drives whose free space it has checked.
$started, $drives = (Update-Memory)['started'], (Update-Memory)['drives']
$memory = [ordered] @{}
if ($started) { foreach ($name in $remove['stopped']) { if ($started[$name]) { $memory[$name] = $started[$name] } } }
$kept = ConvertTo-JsonText ([ordered] @{ started = $memory; drives = @($drives) })
Set-WholeFile "$State\state.json" $Utf8.GetBytes($kept)
foreach ($folder in $remove['folders']) { Clear-Folder $folder $remove['kept'] $remove['stays'] }
# Remove the loader's files, except this bundle if it is among them.
$own = [IO.Path]::GetFullPath("$PSScriptRoot\..")
Clear-Folder $Mullion @($own) @([IO.Path]::GetDirectoryName($own))
