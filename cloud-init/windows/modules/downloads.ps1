# Downloads: several at a time, resumed after an earlier attempt, stopped when they stall.

$AtOnce = 4
$StallSeconds = 30    # without a byte
$Redirects = 5
$Chunk = 1MB
$LargestDownload = 2GB    # if the plan does not say its size; archives of Kubernetes have some hundred MB

# .SYNOPSIS
# Request the file of a download, or its missing part.
function Start-Download {
    [CmdletBinding()]
    param([hashtable] $Run, [hashtable] $Download)
    $request = [Net.Http.HttpRequestMessage]::new([Net.Http.HttpMethod]::Get, $Download.Url)
    $Download.Have = if ([IO.File]::Exists($Download.Part)) { ([IO.FileInfo]::new($Download.Part)).Length } else { 0 }
    if ($Download.Have) { $request.Headers.Range = [Net.Http.Headers.RangeHeaderValue]::new($Download.Have, $null) }
    $client = Get-HttpClient $Run $Download.Url
    $Download.Task = $client.SendAsync($request, 'ResponseHeadersRead', $Download.Cancel.Token)
    $Download.Stage = 'asked'
}

# .SYNOPSIS
# Follow a redirect, but never from https to http.
function Resume-Redirect {
    [CmdletBinding()]
    param([hashtable] $Run, [hashtable] $Download, $Answer)
    $next = [Uri]::new($Download.Url, $Answer.Headers.Location)
    $Answer.Dispose()
    if ($Download.Url.Scheme -eq 'https' -and $next.Scheme -ne 'https') {
        throw (New-Failure 'redirect-refused' "$($Download.Url) sends on to $next")
    }
    if (++$Download.Hops -gt $Redirects) { throw (New-Failure 'download-failed' "${next}: too many redirects") }
    $Download.Url = $next
    Start-Download $Run $Download
}

# .SYNOPSIS
# Read the response headers and start to copy the body; without support of ranges start from byte 0.
function Start-Copy {
    [CmdletBinding()]
    param([hashtable] $Run, [hashtable] $Download)
    $answer = $Download.Task.GetAwaiter().GetResult()
    $code = [int] $answer.StatusCode
    $moved = $code -in 301, 302, 303, 307, 308 -and $answer.Headers.Location
    if ($moved) { return Resume-Redirect $Run $Download $answer }
    $from = if ($answer.Content.Headers.ContentRange) { $answer.Content.Headers.ContentRange.From }
    if ($code -eq 416 -and $Download.Have) {
        # The part has all bytes; the digest decides whether they are right.
        $answer.Dispose()
        $Download.Stage = 'done'
        return
    }
    if ($code -notin 200, 206 -or ($code -eq 206 -and $from -ne $Download.Have)) {
        $answer.Dispose()
        throw (New-Failure 'download-failed' "$($Download.Url): $code")
    }
    $mode = if ($code -eq 206) { 'Append' } else { 'Create' }
    $Download.Answer = $answer
    $Download.File = [IO.FileStream]::new($Download.Part, $mode, 'Write')
    $Download.Length = if ($null -ne $answer.Content.Headers.ContentLength) {
        $Download.File.Position + $answer.Content.Headers.ContentLength
    }
    if ($Download.Length -gt $Download.Most) { throw (Get-OversizedFailure $Download) }
    $body = $answer.Content.ReadAsStreamAsync().GetAwaiter().GetResult()
    $Download.Task = $body.CopyToAsync($Download.File, $Chunk, $Download.Cancel.Token)
    $Download.Stage = 'copying'
}

# .SYNOPSIS
# Flush the file; throw download-failed if it is too short.
function Complete-Copy {
    [CmdletBinding()]
    param([hashtable] $Download)
    $Download.Task.GetAwaiter().GetResult()
    $Download.File.Flush($true)
    if ($null -ne $Download.Length -and $Download.File.Length -ne $Download.Length) {
        $came = "$($Download.File.Length) of $($Download.Length) bytes"
        throw (New-Failure 'download-failed' "$($Download.Url): $came came")
    }
    $Download.Stage = 'done'
}

# .SYNOPSIS
# Return the failure of a download that is too large; its part is deleted later, so that no attempt resumes it.
function Get-OversizedFailure {
    [CmdletBinding()]
    param([hashtable] $Download)
    $Download.Oversized = $true
    New-Failure 'download-failed' "$($Download.Url): it is larger than $($Download.Most) bytes"
}

# .SYNOPSIS
# Throw download-failed if the download stalls, exceeds its timeout or its size.
function Assert-Progress {
    [CmdletBinding()]
    param([hashtable] $Download)
    $place = if ($Download.File) { $Download.File.Position } else { -1 }
    if ($place -ne $Download.Place) { $Download.Place = $place; $Download.Still.Restart() }
    $why = if ($Download.Still.Elapsed.TotalSeconds -gt $StallSeconds) { "nothing came for $StallSeconds s" }
    elseif ($Download.Watch.Elapsed.TotalSeconds -gt $Download.Seconds) { "it took longer than $($Download.Seconds) s" }
    elseif ($place -gt $Download.Most) { throw (Get-OversizedFailure $Download) }
    if ($why) { throw (New-Failure 'download-failed' "$($Download.Url): $why") }
}

# .SYNOPSIS
# Return the failure of a download for an exception.
function Get-DownloadFailure {
    [CmdletBinding()]
    param([hashtable] $Download, [Exception] $Exception)
    if ($Exception.Data.Contains('mullion')) { return $Exception }
    for ($cause = $Exception; $cause; $cause = $cause.InnerException) {
        if ($cause.Data.Contains('mullion')) { return $cause }
        if ($cause -is [Security.Authentication.AuthenticationException]) {
            return New-Failure 'certificate-refused' "$($Download.Url): $($cause.Message)"
        }
    }
    $told = Get-Failure $Exception
    if ($told.Name -eq 'disk-full') { return New-Failure 'disk-full' "$($Download.Part): $($told.Message)" }
    New-Failure 'download-failed' "$($Download.Url): $($told.Message)"
}

# .SYNOPSIS
# Advance a download as far as possible without waiting.
function Step-Download {
    [CmdletBinding()]
    param([hashtable] $Run, [hashtable] $Download)
    try {
        if (-not $Download.Task) { Start-Download $Run $Download }
        elseif (-not $Download.Task.IsCompleted) { Assert-Progress $Download }
        elseif ($Download.Stage -eq 'asked') { Start-Copy $Run $Download }
        else { Complete-Copy $Download }
    }
    catch {
        $Download.Failure = Get-DownloadFailure $Download $_.Exception
        $Download.Stage = 'done'
    }
    if ($Download.Stage -eq 'done') {
        $Download.Cancel.Cancel()
        foreach ($open in $Download.File, $Download.Answer) {
            if ($open) { try { $open.Dispose() } catch { [void] 'gone' } }
        }
        if ($Download.Oversized) { try { [IO.File]::Delete($Download.Part) } catch { [void] 'still open' } }
    }
}

# .SYNOPSIS
# Return a download of a URL to the file Part with a timeout in seconds; Failure is $null if it succeeded.
function New-Download {
    [CmdletBinding()]
    param([string] $Url, [string] $Part, [int] $Seconds)
    @{
        Url = [Uri] $Url; Part = $Part; Seconds = $Seconds; Failure = $null; Stage = 'new'; Task = $null; Hops = 0
        Have = 0; Place = -2; Length = $null; File = $null; Answer = $null; Most = $LargestDownload; Oversized = $false
        Cancel = [Threading.CancellationTokenSource]::new()
        Watch = [Diagnostics.Stopwatch]::new(); Still = [Diagnostics.Stopwatch]::StartNew()
    }
}

# .SYNOPSIS
# Run downloads, $AtOnce at a time; afterwards Failure of each is set or $null.
function Invoke-Download {
    [CmdletBinding()]
    param([hashtable] $Run, [hashtable[]] $Downloads)
    $waiting = [Collections.Generic.Queue[hashtable]]::new([hashtable[]] $Downloads)
    $active = @()
    while ($waiting.Count -or $active) {
        while ($waiting.Count -and $active.Count -lt $AtOnce) {
            $next = $waiting.Dequeue()
            $next.Watch.Start()
            $next.Still.Restart()
            $active += $next
        }
        foreach ($each in $active) { Step-Download $Run $each }
        $active = @($active | Where-Object { $_.Stage -ne 'done' })
        $tasks = [Threading.Tasks.Task[]] @($active | ForEach-Object { $_.Task })
        if ($tasks) { [void][Threading.Tasks.Task]::WaitAny($tasks, 200) }
    }
}
