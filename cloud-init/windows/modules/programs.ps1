# Programs: started without a shell, terminated with all their child processes after a timeout.

$Shown = 1500    # characters of a program's output in a failure message

# .SYNOPSIS
# Return an argument quoted for CommandLineToArgvW.
function ConvertTo-Argument {
    [CmdletBinding()]
    param([string] $Word)
    if ($Word -ne '' -and $Word -notmatch '[\s"]') { return $Word }
    '"' + (($Word -replace '(\\*)"', '$1$1\"') -replace '(\\+)$', '$1$1') + '"'
}

# .SYNOPSIS
# Return the type with the job object functions of kernel32; a job contains a program and its child processes.
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
# Return the start info of a program.
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
# Run a program; return Code and Output. Throw command-timeout, or command-failed for another code than 0 without
# -AllowFailure.
function Invoke-Program {
    [CmdletBinding()]
    param(
        [string] $Program, [string[]] $Arguments = @(), [int] $TimeoutSeconds = 120,
        $Environment, [string] $InputText = '', [switch] $AllowFailure
    )
    $start = New-StartInfo $Program $Arguments $Environment
    # With code page 65001 .NET Framework sends a byte order mark to every program that it starts.
    if ([Console]::InputEncoding.GetPreamble()) {
        try { [Console]::InputEncoding = $Utf8 } catch [IO.IOException] { [void] 'no console' }
    }
    try { $process = [Diagnostics.Process]::Start($start) }
    catch {
        $why = $_.Exception.GetBaseException().Message
        throw (New-Failure 'command-failed' "$Program cannot be started: $why")
    }
    $native = if (-not (Test-NativeBlocked)) { Get-JobType }
    $job = if ($native) { $native::CreateJobObjectW([IntPtr]::Zero, [NullString]::Value) }
    try {
        # False if the program has already exited.
        if ($native) { [void]$native::AssignProcessToJobObject($job, $process.Handle) }
        $reading = $process.StandardOutput.ReadToEndAsync(), $process.StandardError.ReadToEndAsync()
        # As bytes: the writer of StandardInput would encode in the console's code page.
        $bytes = $Utf8.GetBytes($InputText)
        try { $process.StandardInput.BaseStream.Write($bytes, 0, $bytes.Length); $process.StandardInput.Close() }
        catch [IO.IOException] { [void] 'it has ended without reading' }
        if (-not $process.WaitForExit(1000 * $TimeoutSeconds)) {
            if ($native) { [void]$native::TerminateJobObject($job, 1) }
            else { [void](& taskkill.exe /t /f /pid $process.Id) }
            throw (New-Failure 'command-timeout' "$Program took longer than $TimeoutSeconds s")
        }
        $output = @($reading | ForEach-Object { if ($_.Wait(5000)) { $_.Result } }) -join ''
        $code = $process.ExitCode
    }
    finally { if ($native) { [void]$native::CloseHandle($job) }; $process.Dispose() }
    if ($code -ne 0 -and -not $AllowFailure) {
        $end = $output.Trim()
        if ($end.Length -gt $Shown) {
            # Whole lines: half of a secret would not be redacted.
            $end = $end.Substring($end.Length - $Shown)
            $end = $end.Substring($end.IndexOf("`n") + 1)
        }
        throw (New-Failure 'command-failed' "$Program ended with ${code}: $end")
    }
    @{ Code = $code; Output = $output }
}
