# Rows of the result, kept on the disk so that a restart or a power cut loses none.

# .SYNOPSIS
# Return the progress of an earlier start, or that of the first one.
function Read-Progress {
    [CmdletBinding()]
    param([bool] $Changing)
    $file = "$Contact\progress.json"
    if ([IO.File]::Exists($file)) {
        $kept = Read-Json $file
        foreach ($name in 'rows', 'changes', 'failed') { $kept[$name] = [Collections.ArrayList] @($kept[$name]) }
        return $kept
    }
    [ordered] @{
        stage = 'ask'; change = $Changing; next = 0; boot = $null; up = 0; restarted = $false
        started = '{0:s}Z' -f [DateTime]::UtcNow; rows = [Collections.ArrayList]::new()
        changes = [Collections.ArrayList]::new(); failed = [Collections.ArrayList]::new()
    }
}

# .SYNOPSIS
# Return the time since Windows started, in ticks that no change of the clock affects.
function Get-UpTick {
    [CmdletBinding()]
    param()
    [Diagnostics.Stopwatch]::GetTimestamp()
}

# .SYNOPSIS
# Return whether this is the boot in which the restart was requested: the same number of the boot, and no shorter time
# since the start. Whether the number itself changes is a row of the result, because the executor trusts it.
function Test-SameBoot {
    [CmdletBinding()]
    param()
    $Progress['boot'] -eq (Get-BootId) -and (Get-UpTick) -ge $Progress['up']
}

# .SYNOPSIS
# Write the progress to the disk.
function Save-Progress {
    [CmdletBinding()]
    param()
    Set-WholeFile "$Contact\progress.json" $Utf8.GetBytes((ConvertTo-JsonText $Progress))
}

# .SYNOPSIS
# Begin the next stage.
function Set-Stage {
    [CmdletBinding()]
    param([string] $Stage)
    $Progress['stage'] = $Stage
    Save-Progress
}

# .SYNOPSIS
# Write a line to the console and the serial port, without secrets.
function Write-Line {
    [CmdletBinding()]
    param([string] $Text)
    $line = Protect-Text $run $Text
    [Console]::WriteLine("first-contact: $line")
    Write-Serial "first-contact: $line"
}

# .SYNOPSIS
# Record a check: the expected and the found value, and whether they match.
function Add-Row {
    [CmdletBinding()]
    param([string] $Check, [string] $Expected, [string] $Found, [bool] $Fits, [double] $Seconds = 0)
    [void]$Progress['rows'].Add([ordered] @{
            check = $Check; expected = $Expected; found = $Found; fits = $Fits; seconds = [Math]::Round($Seconds, 3)
        })
    Save-Progress    # a deadline ends the process without a warning (modules/deadline.ps1)
    if (-not $Fits) { Write-Line "DIFFERS $Check; expected: $Expected; found: $Found" }
}

# .SYNOPSIS
# Return the error as text, with its number.
function Get-FailureText {
    [CmdletBinding()]
    param([Exception] $Exception)
    $failure = Get-Failure $Exception
    $row = Get-ErrorRow $failure.Name
    "E$(if ($row) { $row['code'] } else { 901 }) $($failure.Name): $($failure.Message)"
}

# .SYNOPSIS
# Run a script block and record whether its text equals the expected one (or, with -Like, matches the expression).
function Invoke-Check {
    [CmdletBinding()]
    param([string] $Check, [string] $Expected, [scriptblock] $Block, [switch] $Like)
    $watch = [Diagnostics.Stopwatch]::StartNew()
    try {
        $found = (@(& $Block) | ForEach-Object { "$_" }) -join ' '
        $fits = if ($Like) { $found -match "\A(?:$Expected)\z" } else { $found -ceq $Expected }
    }
    catch { $found, $fits = (Get-FailureText $_.Exception), $false }
    Add-Row $Check $Expected $found $fits $watch.Elapsed.TotalSeconds
}
