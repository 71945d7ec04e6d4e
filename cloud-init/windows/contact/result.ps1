# The result: a table of differences on the console, and one redacted archive.

# .SYNOPSIS
# Return the result as a document.
function Get-ContactResult {
    [CmdletBinding()]
    param($Wanted)
    $kit = [ordered] @{}
    $names = 'mullion', 'os', 'build', 'runtime', 'network', 'kubernetes', 'cloud'
    foreach ($name in $names) { $kit[$name] = $Wanted[$name] }
    [ordered] @{
        format = 1; kit = $kit; windows = Get-VersionShape; changed = $Progress['change']
        started = $Progress['started']; ended = '{0:s}Z' -f [DateTime]::UtcNow; rows = $Progress['rows']
        left_out = $Wanted['left_out']; changes = $Progress['changes']
    }
}

# .SYNOPSIS
# Return the newest events that explain failures of networks, services and containers, as text.
function Get-EventsText {
    [CmdletBinding()]
    param()
    $logs = 'Microsoft-Windows-Host-Network-Service-Admin', 'Microsoft-Windows-Hyper-V-Compute-Admin', 'System'
    foreach ($log in $logs) {
        "== $log"
        try { Get-WinEvent $log -MaxEvents 100 | ForEach-Object { "$($_.TimeCreated) $($_.Id) $($_.Message)" } }
        catch { "not collected: $($_.Exception.Message)" }
    }
}

# .SYNOPSIS
# Write the archive and list its content.
function Write-Contact {
    [CmdletBinding()]
    param([hashtable] $Run, $Wanted)
    $rows = @($Progress['rows'])
    $wrong = @($rows | Where-Object { -not $_['fits'] })
    $summary = @("$($rows.Count) checks, $($wrong.Count) differ from what was expected")
    foreach ($row in $wrong) {
        $summary += "$($row['check'])`r`n  expected: $($row['expected'])`r`n  found:    $($row['found'])"
    }
    $texts = [ordered] @{
        'result.json' = ConvertTo-JsonText (Get-ContactResult $Wanted); 'summary.txt' = $summary -join "`r`n"
        'events.txt' = @(Get-EventsText) -join "`r`n"
    }
    foreach ($file in "$Contact\undo.ps1", "$State\node.log", "$env:ProgramData\mullion\loader.log") {
        if ([IO.File]::Exists($file)) { $texts[[IO.Path]::GetFileName($file)] = [IO.File]::ReadAllText($file) }
    }
    foreach ($file in [IO.Directory]::GetFiles("$Contact\dumps", '*.json', 'AllDirectories')) {
        $texts[$file.Substring("$Contact\".Length).Replace('\', '/')] = [IO.File]::ReadAllText($file)
    }
    $sources = @($texts.Keys | ForEach-Object { @{ Name = $_; Text = $texts[$_] } })
    $bytes = New-RedactedZip $Run $sources { param($source) $source.Text }
    Set-WholeFile "$Contact\first-contact.zip" $bytes
    foreach ($line in $summary[0], "$Contact\first-contact.zip is the result") { Write-Line $line }
    if (-not $Progress['change']) {
        return Write-Line 'nothing was changed; on a disposable machine, -Change also sets steps and creates networks'
    }
    Write-Line "$($Progress['changes'].Count) steps changed this machine; delete it, or run: first-contact.ps1 -Undo"
}
