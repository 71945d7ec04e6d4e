# How often the network watch (watch-network.ps1) repairs, and what it must find twice before it repairs.

# Cause -> number of repairs of one subject within seconds; $null: within the boot, or until the subject is well again.
$Limits = @{
    network = 3, 3600; services = 3, 3600; annotations = 3, 3600; executor = 3, 3600; epoch = 3, 3600
    trust = 3, 3600
    # the services were started anew for this; more starts only cut connections
    routes = 3, $null; hostroute = 3, $null; strays = 3, $null; balancers = 3, $null; sandbox = 3, $null
}

# .SYNOPSIS
# Return what this question of a cause and the last one found, and keep what this one found.
function Get-Confirmed {
    [CmdletBinding()]
    param($Record, [string] $Cause, [string[]] $Found)
    $before, $now = @($Record['suspects'][$Cause]), @($Found | Where-Object { $_ })
    $Record['suspects'][$Cause] = $now
    $now | Where-Object { $_ -in $before }
}

# .SYNOPSIS
# Return the seconds since Windows started, which no change of the clock affects.
function Get-UpSecond {
    [CmdletBinding()]
    param()
    [long] ([Diagnostics.Stopwatch]::GetTimestamp() / [Diagnostics.Stopwatch]::Frequency)
}

# .SYNOPSIS
# Count a repair and return $true, or return $false if $Limits has it wait, and say that once.
function Test-RepairDue {
    [CmdletBinding()]
    param([hashtable] $Run, $Record, [string] $Cause, [string] $Subject, [string] $Why)
    $most, $seconds = $Limits[$Cause]
    $name = "$Cause $Subject".Trim()
    $known = $Record['repairs'][$name]
    $since = if ($seconds) { (Get-UpSecond) - $seconds } else { -1 }
    $made = @(if ($known) { $known['made'] | Where-Object { $_ -gt $since } })
    $due = $made.Count -lt $most
    if ($due) { $made += Get-UpSecond }
    elseif (-not $known['waits']) {
        $said = "${Why}: $most repairs ($name) "
        $said += if ($seconds) { "within $seconds s did not help, the next one waits" } else {
            'did not help, no more follow'
        }
        Write-Event $Run $said 0
        Write-Said $Run $said
    }
    $Record['repairs'][$name] = [ordered] @{ made = $made; waits = -not $due }
    $due
}

# .SYNOPSIS
# Return whether the next repair of this subject waits.
function Test-GivenUp {
    [CmdletBinding()]
    param($Record, [string] $Cause, [string] $Subject)
    $known = $Record['repairs']["$Cause $Subject".Trim()]
    [bool] ($known -and $known['waits'])
}

# .SYNOPSIS
# Forget the repairs of a cause for all but these subjects: the others are well.
function Clear-Repair {
    [CmdletBinding()]
    param($Record, [string] $Cause, [string[]] $Except = @())
    $kept = @($Except | ForEach-Object { "$Cause $_" })
    foreach ($name in @($Record['repairs'].Keys)) {
        if ($name.Split(' ')[0] -eq $Cause -and $name -notin $kept) { $Record['repairs'].Remove($name) }
    }
}
