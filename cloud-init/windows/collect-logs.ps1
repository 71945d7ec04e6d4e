# Collects data that explain why this machine is not a Node or not Ready: logs, events, networks, versions, results.
# Needs neither the kubelet nor the API. Leaves out files that hold secrets and redacts all other text.
# -Output FILE: write the zip to FILE. -Requested: handle requests to this machine in the bundle store; a task runs
# this every two minutes. For a zip (mullion logs), upload it under a key that only this machine may write. For a
# restart of programs that watch the cluster (mullion restore), run epoch.ps1. Each run also checks the pod network
# (watch-network.ps1).
[CmdletBinding(DefaultParameterSetName = 'File')]
param(
    [Parameter(Mandatory, ParameterSetName = 'File')] [string] $Output,
    [Parameter(Mandatory, ParameterSetName = 'Requested')] [switch] $Requested
)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
. "$PSScriptRoot\loader.ps1" -Functions
. "$PSScriptRoot\epoch.ps1"
. "$PSScriptRoot\watch-network.ps1"
. "$PSScriptRoot\modules\clouds.ps1"

$PerFile = 1MB     # of a file, its end
$Seconds = 30      # timeout of a program
$Events = 400      # newest events of one log
$ComputeLog = 'Microsoft-Windows-Hyper-V-Compute-Operational'
$Books = 'C:\var\lib\cni\networks\'    # leases of host-local
$Answered = "$env:ProgramData\mullion\answered.txt"

# Patterns of files by folder in the archive. If the archive gets too large, later ones are left out.
$Files = [ordered] @{
    mullion    = "$env:ProgramData\mullion\*.json", "$env:ProgramData\mullion\*.log", "$Mullion\machine.json"
    plan       = "$PSScriptRoot\plan.json"
    kubelet    = 'C:\var\log\kubelet\*', 'C:\k\kubelet.json'
    flanneld   = 'C:\var\log\flanneld\*', 'C:\flannel\*.json', 'C:\run\flannel\subnet.env'
    'kube-proxy' = 'C:\var\log\kube-proxy\*', 'C:\k\kube-proxy.json'
    runtime    = ('C:\var\log\containerd\*', 'C:\Program Files\containerd\config.toml',
        'C:\ProgramData\containerd\root\panic.log', 'C:\var\log\cri-dockerd\*',
        'C:\ProgramData\docker\config\daemon.json')
    cni        = 'C:\k\cni\config\*', "$Books*\*"
    launch     = ('C:\ProgramData\Amazon\EC2-Windows\Launch\Log\*.log', 'C:\ProgramData\Amazon\EC2Launch\log\*.log',
        'C:\WindowsAzure\Logs\Plugins\Microsoft.Compute.CustomScriptExtension\*\*.log')
}
$Programs = [ordered] @{
    'system\services'       = 'sc.exe', 'queryex', 'type=', 'service', 'state=', 'all'
    'system\addresses'      = 'ipconfig.exe', '/all'
    'system\routes'         = 'route.exe', 'print'
    'system\ports'          = 'netsh.exe', 'int', 'ipv4', 'show', 'dynamicportrange', 'tcp'
    'system\proxy'          = 'netsh.exe', 'winhttp', 'show', 'proxy'
    'system\firewall'       = 'netsh.exe', 'advfirewall', 'show', 'allprofiles'
    'system\processes'      = 'tasklist.exe', '/v'
    'versions\kubelet'      = 'C:\k\kubelet.exe', '--version'
    'versions\kube-proxy'   = 'C:\k\kube-proxy.exe', '--version'
    'versions\kubectl'      = 'C:\k\kubectl.exe', 'version', '--client'
    'versions\containerd'   = 'C:\Program Files\containerd\containerd.exe', '--version'
    'versions\docker'       = 'C:\Program Files\docker\dockerd.exe', '--version'
    'runtime\containers'    = 'C:\k\crictl.exe', '--timeout', '10s', 'ps', '--all'
    'runtime\sandboxes'     = 'C:\k\crictl.exe', '--timeout', '10s', 'pods'
}
$Reads = [ordered] @{
    'versions\windows'      = { Get-WindowsText }
    'hns\networks'          = { Get-HnsText 'networks' }
    'hns\endpoints'         = { Get-HnsText 'endpoints' }
    'hns\policies'          = { Get-HnsText 'policylists' }
    'events\services'       = { Get-EventText 'System' 'Service Control Manager', 'EventLog', 'User32' }
    'events\application'    = { Get-EventText 'Application' }
    'events\containers'     = { Get-WinEvent $ComputeLog -MaxEvents $Events | Out-String }
}

# .SYNOPSIS
# Return HNS's objects of a type as text.
function Get-HnsText {
    [CmdletBinding()]
    param([string] $Type)
    ConvertTo-JsonText @(Send-HnsRequest 'GET' $Type | ForEach-Object { ConvertTo-Tree $_ })
}

# .SYNOPSIS
# Return the version of Windows.
function Get-WindowsText {
    [CmdletBinding()]
    param()
    $key = 'HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion'
    $names = 'ProductName', 'InstallationType', 'ReleaseId', 'CurrentBuildNumber', 'UBR'
    ($names | ForEach-Object { "${_}: $([Microsoft.Win32.Registry]::GetValue($key, $_, ''))" }) -join "`r`n"
}

# .SYNOPSIS
# Return the newest events of a log, or of some sources (1074 and 6008 explain a shutdown).
function Get-EventText {
    [CmdletBinding()]
    param([string] $Log, [string[]] $Sources)
    $entries = [Diagnostics.EventLog]::new($Log).Entries
    $lines = [Collections.ArrayList]::new()
    for ($place = $entries.Count - 1; $place -ge 0 -and $lines.Count -lt $Events; $place--) {
        $one = $entries[$place]
        if ($Sources -and $one.Source -notin $Sources) { continue }
        $head = '{0:s} {1} {2} {3}' -f $one.TimeGenerated, $one.EntryType, $one.Source, ($one.InstanceId -band 0xFFFF)
        [void]$lines.Add("${head}: $($one.Message)")
    }
    $lines.Reverse()
    $lines -join "`r`n"
}

# .SYNOPSIS
# Return the end of a file, also while other programs write to it.
function Get-FileEnd {
    [CmdletBinding()]
    param([string] $Path)
    $file = [IO.FileStream]::new($Path, 'Open', 'Read', 'ReadWrite, Delete')
    try {
        if ($file.Length -gt $PerFile) { [void]$file.Seek(-$PerFile, 'End') }
        [IO.StreamReader]::new($file, $Utf8).ReadToEnd()
    }
    finally { $file.Dispose() }
}

# .SYNOPSIS
# Return the files of a pattern, newest first; * may also stand in folder names. Nothing if the folder does not exist.
function Find-File {
    [CmdletBinding()]
    param([string] $Pattern)
    $folder, $name = [IO.Path]::GetDirectoryName($Pattern), [IO.Path]::GetFileName($Pattern)
    $folders = if ([IO.Path]::GetFileName($folder) -ne '*') { @($folder) } else {
        $above = [IO.Path]::GetDirectoryName($folder)
        if ([IO.Directory]::Exists($above)) { [IO.Directory]::GetDirectories($above) }
    }
    @($folders | Where-Object { $_ -and [IO.Directory]::Exists($_) } |
            ForEach-Object { [IO.Directory]::GetFiles($_, $name) } |
            Sort-Object { [IO.File]::GetLastWriteTimeUtc($_) } -Descending)
}

# .SYNOPSIS
# Return the sources: name in the archive, how to get the text (File, Program or Read), and the argument for it.
function Get-Source {
    [CmdletBinding()]
    param()
    foreach ($folder in $Files.Keys) {
        foreach ($path in @($Files[$folder] | ForEach-Object { Find-File $_ })) {
            # host-local names files by address only; the folder is the network's name
            $start = if ($path.StartsWith($Books)) { $Books.Length } else { $path.LastIndexOf('\') + 1 }
            @{ Name = "$folder\$($path.Substring($start))"; How = 'File'; What = $path }
        }
    }
    foreach ($name in $Programs.Keys) { @{ Name = "$name.txt"; How = 'Program'; What = $Programs[$name] } }
    foreach ($name in $Reads.Keys) { @{ Name = "$name.txt"; How = 'Read'; What = $Reads[$name] } }
}

# .SYNOPSIS
# Return a source's text, or the reason why it cannot be collected.
function Get-SourceText {
    [CmdletBinding()]
    param([hashtable] $Source)
    $what = $Source.What
    try {
        switch ($Source.How) {
            'File' { return Get-FileEnd $what }
            'Program' {
                $words = @($what | Select-Object -Skip 1)
                return (Invoke-Program $what[0] $words -TimeoutSeconds $Seconds -AllowFailure).Output
            }
            'Read' { return [string] (& $what) }
        }
    }
    catch { return "not collected: $($_.Exception.GetBaseException().Message)" }
}

# .SYNOPSIS
# Return a run that redacts the bootstrap token, if the token can be read.
function New-Collection {
    [CmdletBinding()]
    param($Told)
    $run = New-Run $Told $true
    try { [void](Get-Secret $run $Told['facts']['join_secret']) } catch { [void] 'patterns remain' }
    $run
}

# .SYNOPSIS
# Return URLs of the requests to this machine and of its answers, next to the status record.
function Get-Place {
    [CmdletBinding()]
    param($Facts)
    $store = $Facts['bundle_store']
    $name = $Facts['status_url'].Substring("$store/status/".Length) + (Get-Instance)
    @{ Request = "$store/requests/$name.json"; Answer = "$store/logs/$name.json" }
}

$Told = ConvertFrom-Json ([IO.File]::ReadAllText("$Mullion\machine.json"))
$facts = @{}
foreach ($fact in $Told.facts.PSObject.Properties) { $facts[$fact.Name] = $fact.Value }
$Site.Facts = $facts
. "$PSScriptRoot\load-modules.ps1"
$known = Read-Json "$Mullion\machine.json"
if ($Requested) {
    # The network first: without its route the metadata service answers no request to the store. An error of one must
    # not keep this task from the others: on a full disk the logs are asked for.
    $run = New-Run $known $false
    # The authorities before the certificate: one of an authority that is published, but not yet trusted, stays.
    $tasks = { Invoke-NetworkWatch $run }, { Invoke-TrustWatch $run }, { Start-Rejoin $known['machine']['name'] }
    foreach ($task in $tasks) {
        try { & $task } catch { Write-Said $run "$("$task".Trim()): $($_.Exception.GetBaseException().Message)" }
    }
}
$asked = $epoch = $null
if ($Requested) {
    $epoch = Get-NewEpoch $facts
    try {
        $place = Get-Place $facts
        $asked = ConvertFrom-Json $Utf8.GetString((Invoke-SignedRequest -Url $place.Request -Service 'store'))
        if ([IO.File]::Exists($Answered) -and [IO.File]::ReadAllText($Answered) -eq $asked.id) { $asked = $null }
    }
    catch { $asked = $null }    # no request, or the store is unreachable
}
if ($epoch) { Invoke-NewEpoch (New-Run $known $false) $epoch }
if ($Requested -and -not $asked) { exit 0 }
$archive = New-RedactedZip (New-Collection $known) @(Get-Source) { param($source) Get-SourceText $source }
if (-not $Requested) {
    Set-WholeFile ([IO.Path]::GetFullPath($Output)) $archive
    exit 0
}
$answer = ConvertTo-JsonText ([ordered] @{ id = $asked.id; archive = [Convert]::ToBase64String($archive) })
$sent = @{ Url = $place.Answer; Service = 'store'; Method = 'PUT'; Headers = @{ 'content-type' = 'application/json' } }
[void](Invoke-SignedRequest @sent -Body $answer)
# On a full disk the next run answers again.
try { Set-WholeFile $Answered $Utf8.GetBytes([string] $asked.id) }
catch { if (-not (Test-DiskFull $_.Exception)) { throw } }
