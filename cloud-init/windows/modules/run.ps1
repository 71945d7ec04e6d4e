# State of one run of the executor: machine.json, values found on the machine, and memory between runs.

$State = "$env:ProgramData\mullion"
$DiskFull = 112, 39    # ERROR_DISK_FULL, ERROR_HANDLE_DISK_FULL (winerror.h), the lower half of an HRESULT
$Errors = @{}
$Parsed = @{ Text = ''; Memory = $null }    # text of state.json that was parsed last, and what it says
$Large = 1MB    # from this size on, digests of files are remembered between runs

# .SYNOPSIS
# Return the row of an error in errors.json, which is read only if a run fails.
function Get-ErrorRow {
    [CmdletBinding()]
    param([string] $Name)
    if (-not $Errors.Count) {
        foreach ($row in (Read-Json "$PSScriptRoot\..\errors.json")['errors']) { $Errors[$row['name']] = $row }
    }
    $Errors[$Name]
}

# .SYNOPSIS
# Return an exception with an error name of errors.json.
function New-Failure {
    [CmdletBinding()]
    param([string] $Name, [string] $Message)
    $failure = [InvalidOperationException]::new($Message)
    $failure.Data['mullion'] = $Name
    $failure
}

# .SYNOPSIS
# Return whether a write failed because the disk is full.
function Test-DiskFull {
    [CmdletBinding()]
    param([Exception] $Exception)
    $cause = $Exception.GetBaseException()
    $cause -is [IO.IOException] -and ($cause.HResult -band 0xFFFF) -in $DiskFull
}

# .SYNOPSIS
# Return Name (of errors.json) and Message for an exception.
function Get-Failure {
    [CmdletBinding()]
    param([Exception] $Exception)
    $told = $Exception.Data['mullion']
    if ($told) { return @{ Name = $told; Message = $Exception.Message } }
    $cause = $Exception.GetBaseException()
    $name = 'unexpected'
    $message = $cause.Message
    if (Test-DiskFull $cause) {
        $name = 'disk-full'
        $message += " ($([IO.DriveInfo]::new($State.Substring(0, 1)).AvailableFreeSpace) bytes are free on its drive)"
    }
    elseif ($cause -is [IO.IOException] -or $cause -is [UnauthorizedAccessException]) { $name = 'file-failed' }
    @{ Name = $name; Message = $message }
}

# .SYNOPSIS
# Return a run: values of references (Told, Found), secrets read (Stored), texts to redact (Unsaid), commands (Done),
# downloads of the phase (Fetched), digests of files (Digests), running times of started services (Started) and of a
# new virtual switch (Switched), the last observation of a poll (Seen), the last Node object as planned (Shown), the
# state of the status record after the run (Reached), addresses whose routes are repaired, and what was said of them
# last (Routed; nothing before a metadata-route step), and stopwatch and limit of the attempt (Watch, Limit).
function New-Run {
    [CmdletBinding()]
    param($Told, [bool] $Checking)
    @{
        Told = @{ machine = $Told['machine']; facts = $Told['facts']; registration = @{} }
        Found = @{}; Stored = @{}; Unsaid = @{}; Done = @{}; Fetched = @{}; Digests = @{}; Clients = @{}
        Egress = @{}; Checking = $Checking; RebootAsked = $false; Kubernetes = $null; Instance = ''
        Started = @{}; Switched = $null; Routed = $null; Seen = ''; Shown = @{ Node = '' }; Reached = 'ready'
        Whole = [Diagnostics.Stopwatch]::StartNew(); Watch = [Diagnostics.Stopwatch]::StartNew(); Limit = 0
    }
}

# .SYNOPSIS
# Return the same run with another limit, in seconds from now: for work that the step's limit does not count.
function New-TimedRun {
    [CmdletBinding()]
    param([hashtable] $Run, [int] $Seconds)
    $timed = $Run.Clone()
    $timed.Watch, $timed.Limit = [Diagnostics.Stopwatch]::StartNew(), $Seconds
    $timed
}

# .SYNOPSIS
# Return the whole seconds left of this attempt of the step, at least 1.
function Get-SecondsLeft {
    [CmdletBinding()]
    param([hashtable] $Run)
    [int] [Math]::Max(1, $Run.Limit - $Run.Watch.Elapsed.TotalSeconds)
}

# .SYNOPSIS
# Return the value of a reference; values of node.* are cached for the run.
function Get-Reference {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name)
    $source, $key = $Name.Split('.', 2)
    if ($Run.Told.ContainsKey($source) -and $null -ne $Run.Told[$source] -and $Run.Told[$source].Contains($key)) {
        return , $Run.Told[$source][$key]
    }
    if ($source -eq 'node') {
        if (-not $Run.Found.ContainsKey($key)) {
            switch ($key) {
                'address' { $Run.Found[$key] = Get-OwnAddress $Run }
                'provider_id' { $Run.Found[$key] = Get-ProviderId }
                'address_range' { return "$(Get-Reference $Run 'node.address')/32" }
                'bootstrap_token' { return Get-JoinToken $Run (Get-Reference $Run 'facts.join_secret') }
            }
        }
        if ($Run.Found.ContainsKey($key)) { return $Run.Found[$key] }
    }
    throw (New-Failure 'reference-unresolved' "$Name has no value")
}

# .SYNOPSIS
# Return the document with every {"ref": name} replaced by its value.
function Resolve-Reference {
    [CmdletBinding()]
    param([hashtable] $Run, $Document)
    if ($Document -is [string]) { return $Document }
    if ($Document -is [Collections.IDictionary]) {
        if ($Document.Count -eq 1 -and $Document.Contains('ref')) { return , (Get-Reference $Run $Document['ref']) }
        $tree = [Collections.Specialized.OrderedDictionary]::new()
        foreach ($key in $Document.Keys) {
            $each = $Document[$key]
            $plain = $each -is [string] -or $each -is [ValueType]
            $tree[$key] = if ($plain) { $each } else { Resolve-Reference $Run $each }
        }
        return $tree
    }
    if ($Document -is [Collections.IList]) {
        $list = [object[]]::new($Document.Count)
        for ($place = 0; $place -lt $list.Length; $place++) {
            $each = $Document[$place]
            $plain = $each -is [string] -or $each -is [ValueType]
            $list[$place] = if ($plain) { $each } else { Resolve-Reference $Run $each }
        }
        return , $list
    }
    $Document
}

# .SYNOPSIS
# Write values into the memory between runs and return all of it. The file is read each time, but parsed only if its
# text changed since the last call: a run asks about thirty times. A power cut in the middle of ReplaceFile can
# leave the new file alone, with all that the old one had; one in the first write leaves it empty. On a full disk only
# this process keeps the values: the run must reach the start of the kubelet, which frees the disk.
function Update-Memory {
    [CmdletBinding()]
    param([hashtable] $Values = @{})
    $place = "$State\state.json"
    $alone = -not [IO.File]::Exists($place)
    $kept = if ($alone) { "$place.new" } else { $place }
    $text = if ([IO.File]::Exists($kept)) { [IO.File]::ReadAllText($kept) } else { '{}' }
    if (-not $text) { $text = '{}' }
    if ($text -cne $Parsed.Text) {
        try { $Parsed.Text, $Parsed.Memory = $text, (ConvertFrom-JsonText $text) }
        catch { if (-not $alone) { throw }; $Parsed.Text, $Parsed.Memory = $text, (ConvertFrom-JsonText '{}') }
    }
    $memory = $Parsed.Memory
    if ($Values.Count) {
        $Parsed.Text = ''    # a write that fails must leave no trace
        foreach ($key in $Values.Keys) { $memory[$key] = $Values[$key] }
        try { Set-WholeFile $place $Utf8.GetBytes((ConvertTo-JsonText $memory)) }
        catch { if (Test-DiskFull $_.Exception) { $Parsed.Text = $text } else { throw } }
    }
    $memory
}

# .SYNOPSIS
# Return the file's digest with the algorithm of Like (sha256:... or sha512:...); cached until the file changes.
function Get-FileDigest {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Path, [string] $Like)
    $algorithm = $Like.Split(':')[0]
    $file = [IO.FileInfo]::new($Path)
    $key = $algorithm, $Path, $file.Length, $file.LastWriteTimeUtc.Ticks -join '|'
    if (-not $Run.Digests.ContainsKey($key)) {
        $hash = switch ($algorithm) {
            'sha256' { [Security.Cryptography.SHA256]::Create() }
            'sha512' { [Security.Cryptography.SHA512]::Create() }
            default { throw (New-Failure 'step-invalid' "$Like is neither sha256: nor sha512:") }
        }
        $stream = [IO.File]::OpenRead($Path)
        try { $Run.Digests[$key] = "${algorithm}:" + (ConvertTo-Hex $hash.ComputeHash($stream)) }
        finally { $stream.Dispose() }
    }
    $Run.Digests[$key]
}

# .SYNOPSIS
# Return the file's digest as Get-FileDigest does. Do not read a large file again at each boot: trust the digest of the
# last run if size and time of change are still the same. A check reads every file.
function Get-KnownDigest {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Path, [string] $Like)
    $file = [IO.FileInfo]::new($Path)
    if ($Run.Checking -or $file.Length -lt $Large) { return Get-FileDigest $Run $Path $Like }
    $name, $seen = "$($Like.Split(':')[0]) $Path", "$($file.Length) $($file.LastWriteTimeUtc.Ticks)"
    $all = (Update-Memory)['digests']
    if (-not $all) { $all = [ordered] @{} }
    if (-not $all[$name] -or $all[$name]['seen'] -cne $seen) {
        $all[$name] = [ordered] @{ seen = $seen; digest = Get-FileDigest $Run $Path $Like }
        [void](Update-Memory @{ digests = $all })
    }
    $all[$name]['digest']
}
