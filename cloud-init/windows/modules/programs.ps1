# Programs: started without a shell, ended with all that they started when their time is over.

$Shown = 1500    # characters of a program's output that a failure tells

# .SYNOPSIS
# One word of a command line, quoted as CommandLineToArgvW reads it.
function ConvertTo-Argument {
    [CmdletBinding()]
    param([string] $Word)
    if ($Word -ne '' -and $Word -notmatch '[\s"]') { return $Word }
    '"' + (($Word -replace '(\\*)"', '$1$1\"') -replace '(\\+)$', '$1$1') + '"'
}

# .SYNOPSIS
# The type with the functions of kernel32 for job objects: they hold a program and all that it starts.
function Get-JobType {
    [CmdletBinding()]
    param()
    if ($script:JobType) { return $script:JobType }
    $functions = @{
        CreateJobObjectW = [IntPtr], @([IntPtr], [string])
        AssignProcessToJobObject = [bool], @([IntPtr], [IntPtr])
        TerminateJobObject = [bool], @([IntPtr], [uint32])
        CloseHandle = [bool], @(, [IntPtr])
    }
    $script:JobType = New-NativeType 'Mullion.Job' 'kernel32.dll' $functions
    $script:JobType
}
$JobType = $null

# .SYNOPSIS
# What a program needs to start.
function New-StartInfo {
    [CmdletBinding()]
    param([string] $Program, [string[]] $Arguments, $Environment)
    $start = [Diagnostics.ProcessStartInfo]::new($Program)
    $start.Arguments = @($Arguments | ForEach-Object { ConvertTo-Argument $_ }) -join ' '
    $start.UseShellExecute = $false
    $start.CreateNoWindow = $true
    $start.RedirectStandardInput = $start.RedirectStandardOutput = $start.RedirectStandardError = $true
    if ($Environment) {
        foreach ($name in $Environment.Keys) { $start.EnvironmentVariables[$name] = $Environment[$name] }
    }
    $start
}

# .SYNOPSIS
# Runs a program to its end; returns Code and Output. Too long is a failure, and another code without -AllowFailure.
function Invoke-Program {
    [CmdletBinding()]
    param(
        [string] $Program, [string[]] $Arguments = @(), [int] $TimeoutSeconds = 120,
        $Environment, [string] $InputText = '', [switch] $AllowFailure
    )
    $start = New-StartInfo $Program $Arguments $Environment
    try { $process = [Diagnostics.Process]::Start($start) }
    catch {
        $why = $_.Exception.GetBaseException().Message
        throw (New-Failure 'command-failed' "$Program cannot be started: $why")
    }
    $native = Get-JobType
    $job = $native::CreateJobObjectW([IntPtr]::Zero, [NullString]::Value)
    try {
        # False when it has ended already: there is nothing to hold.
        [void]$native::AssignProcessToJobObject($job, $process.Handle)
        $reading = $process.StandardOutput.ReadToEndAsync(), $process.StandardError.ReadToEndAsync()
        try { $process.StandardInput.Write($InputText); $process.StandardInput.Close() }
        catch [IO.IOException] { [void] 'it has ended without reading' }
        if (-not $process.WaitForExit(1000 * $TimeoutSeconds)) {
            [void]$native::TerminateJobObject($job, 1)
            throw (New-Failure 'command-timeout' "$Program took longer than $TimeoutSeconds s")
        }
        $output = @($reading | ForEach-Object { if ($_.Wait(5000)) { $_.Result } }) -join ''
        $code = $process.ExitCode
    }
    finally { [void]$native::CloseHandle($job); $process.Dispose() }
    if ($code -ne 0 -and -not $AllowFailure) {
        $end = $output.Trim()
        if ($end.Length -gt $Shown) {
            # Whole lines: half of a secret would not be known as one.
            $end = $end.Substring($end.Length - $Shown)
            $end = $end.Substring($end.IndexOf("`n") + 1)
        }
        throw (New-Failure 'command-failed' "$Program ended with ${code}: $end")
    }
    @{ Code = $code; Output = $output }
}
