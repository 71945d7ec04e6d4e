# First contact with a Windows Server: runs Mullion's functions and steps without a cluster, and compares the results
# with the expected ones. one-file.ps1 unpacks it beside the scripts of a bundle and starts it; with -Change the boot
# task starts it again (-Resume) after the restart. contact.json has the steps. Exit code 0: done, or it restarts.
[CmdletBinding()]
param([switch] $Change, [switch] $Resume)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
. "$PSScriptRoot\..\loader.ps1" -Functions
. "$PSScriptRoot\..\load-modules.ps1"
. "$PSScriptRoot\progress.ps1"
. "$PSScriptRoot\functions.ps1"
. "$PSScriptRoot\undo.ps1"
. "$PSScriptRoot\steps.ps1"
. "$PSScriptRoot\dumps.ps1"
. "$PSScriptRoot\networks.ps1"
. "$PSScriptRoot\result.ps1"

# The loader and the executor keep their files in the kit's folder, not in those of a node.
$Contact = $Mullion = 'C:\first-contact'
$State = "$Contact\state"
$HungMark = "$Contact\hung"

# .SYNOPSIS
# Return a run of the executor without a cluster: the machine's own name and address, planned values of a test range.
function New-ContactRun {
    [CmdletBinding()]
    param($Wanted)
    $name = [Environment]::MachineName.ToLowerInvariant()
    $values = [ordered] @{ name = $name; address = '' }
    foreach ($key in $Wanted['machine'].Keys) { $values[$key] = $Wanted['machine'][$key] }
    $made = New-Run @{ machine = $values; facts = @{ cloud = $Wanted['cloud'] } } $false
    $made.Found['pod_subnet'] = $Wanted['machine']['pod_cidr']
    $Site.Facts = $made.Told.facts
    if ($Progress['stage'] -eq 'end') { return $made }
    try { $values['address'] = Get-OwnAddress $made } catch { [void] 'rows about networks say so' }
    $made
}

# .SYNOPSIS
# Run all stages that are left; return $false if the machine restarts first.
function Invoke-Contact {
    [CmdletBinding()]
    param([hashtable] $Run, $Wanted)
    if ($Progress['stage'] -eq 'ask') {
        Write-Dumps 'before'
        Test-Surroundings $Wanted
        Test-Functions $Run
        Test-Steps $Run $Wanted 'asked'
        Set-Stage $(if ($Progress['change']) { 'set' } else { 'end' })
    }
    if ($Progress['stage'] -eq 'set') {
        if ($Progress['restarted']) {
            Invoke-Check 'restart: Windows forgets volatile keys' 'True' { $Progress['boot'] -ne (Get-BootId) }
        }
        if (-not (Set-Steps $Run $Wanted)) { return $false }
        Test-Programs $Wanted
        Test-Steps $Run $Wanted 'asked again'
        Write-Dumps 'set'
        Set-Stage 'networks'
    }
    if ($Progress['stage'] -eq 'networks') {
        foreach ($mode in 'l2bridge', 'overlay') { Test-ContactNetwork $Run $Wanted $mode }
        Write-Dumps 'after'
        Set-Stage 'end'
    }
    $true
}

$Wanted = Read-Json "$PSScriptRoot\..\contact.json"
foreach ($folder in $State, "$Contact\dumps") { [void][IO.Directory]::CreateDirectory($folder) }
$Progress = Read-Progress ([bool] $Change)
$hung = [IO.Directory]::Exists($HungMark)
if ($hung) {
    Set-Stage 'end'
    [IO.Directory]::Delete($HungMark)
}
if ($Resume -and (Test-SameBoot)) { exit 0 }    # the task starts once when it is registered
if ($Progress['stage'] -eq 'done') { exit 0 }
if ($Progress['change'] -and [IO.Directory]::Exists("$env:ProgramFiles\mullion\bundles")) {
    [Console]::Error.WriteLine('first-contact: this machine is a node of a Mullion cluster; run it without -Change')
    exit 1
}
$run = New-ContactRun $Wanted
if ($hung) {
    $found = 'a query of Windows, or a dump, did not return in time and ended the run: see the rows and dumps before it'
    Add-Row 'first contact itself' 'every query returns' $found $false
}
if (-not $Progress['change']) { Write-Line 'tests only; changes nothing outside C:\first-contact' }
try { $ended = Invoke-Contact $run $Wanted }
catch {
    Add-Row 'first contact itself' 'no error' "$($_.Exception.GetBaseException().Message) $($_.ScriptStackTrace)" $false
    $ended = $true
}
if ($ended) {
    Stop-BootTask
    Write-Contact $run $Wanted
    Set-Stage 'done'
}
else {
    Write-Line 'the machine restarts, and first contact goes on by itself; look for C:\first-contact\first-contact.zip'
    Restart-Machine $run
}
exit 0
