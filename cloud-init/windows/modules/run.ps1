# One run of the executor: what the machine was told, what it finds out, and its memory between runs.

$State = "$env:ProgramData\mullion"

# An exception that carries a name of errors.json.
function New-Failure {
    [CmdletBinding()]
    param([string] $Name, [string] $Message)
    $failure = New-Object InvalidOperationException $Message
    $failure.Data['mullion'] = $Name
    $failure
}

# Run: values for references (Told, Found), secrets read (Stored) and what may not be said (Unsaid), commands done.
function New-Run {
    [CmdletBinding()]
    param($Told)
    @{
        Told = @{ machine = $Told['machine']; facts = $Told['facts']; registration = @{} }
        Found = @{}; Stored = @{}; Unsaid = @{}; Done = @{}
    }
}

# JSON objects become ordered dictionaries, whose missing keys are $null also in strict mode; lists stay lists.
function ConvertTo-Tree {
    [CmdletBinding()]
    param($Document)
    if ($Document -is [Management.Automation.PSCustomObject]) {
        $tree = New-Object Collections.Specialized.OrderedDictionary
        foreach ($each in $Document.PSObject.Properties) { $tree[$each.Name] = ConvertTo-Tree $each.Value }
        return $tree
    }
    if ($Document -is [Collections.IList]) {
        $list = New-Object object[] $Document.Count
        for ($place = 0; $place -lt $list.Length; $place++) { $list[$place] = ConvertTo-Tree $Document[$place] }
        return , $list
    }
    $Document
}

function Read-Json {
    [CmdletBinding()]
    param([string] $Path)
    ConvertTo-Tree (ConvertFrom-Json ([IO.File]::ReadAllText($Path)))
}

# JSON as text. ConvertTo-Json of Windows PowerShell wraps some lists in objects and escapes what need not be.
function ConvertTo-JsonText {
    [CmdletBinding()]
    param($Tree)
    if ($null -eq $Tree) { return 'null' }
    if ($Tree -is [bool]) { return $Tree.ToString().ToLowerInvariant() }
    if ($Tree -is [string]) {
        $text = $Tree.Replace('\', '\\').Replace('"', '\"')
        $escape = { param($match) '\u{0:x4}' -f [int] [char] $match.Value }
        return '"' + [regex]::Replace($text, '[^\x20-\x7e]', [Text.RegularExpressions.MatchEvaluator] $escape) + '"'
    }
    if ($Tree -is [Collections.IDictionary]) {
        $members = foreach ($key in $Tree.Keys) { (ConvertTo-JsonText $key) + ': ' + (ConvertTo-JsonText $Tree[$key]) }
        return '{' + (@($members) -join ', ') + '}'
    }
    if ($Tree -is [Collections.IEnumerable]) {
        $items = foreach ($each in $Tree) { ConvertTo-JsonText $each }
        return '[' + (@($items) -join ', ') + ']'
    }
    if ($Tree -is [ValueType] -and -not ($Tree -is [DateTime])) {
        return [Convert]::ToString($Tree, [Globalization.CultureInfo]::InvariantCulture)
    }
    throw (New-Failure 'step-invalid' "no JSON for a $($Tree.GetType().Name)")
}

function Get-Reference {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name)
    $source, $key = $Name.Split('.', 2)
    if ($Run.Told.ContainsKey($source) -and $Run.Told[$source].Contains($key)) { return , $Run.Told[$source][$key] }
    if ($source -eq 'node') {
        if (-not $Run.Found.ContainsKey($key)) {
            switch ($key) {
                'address' { $Run.Found[$key] = Get-OwnAddress }
                'provider_id' { $Run.Found[$key] = Get-ProviderId }
                'pod_subnet' { $Run.Found[$key] = Get-PodSubnet }
                'bootstrap_token' { return Get-Secret $Run (Get-Reference $Run 'facts.join_secret') }
            }
        }
        if ($Run.Found.ContainsKey($key)) { return $Run.Found[$key] }
    }
    throw (New-Failure 'reference-unresolved' "nothing says what $Name is")
}

# The document with every {"ref": name} replaced by its value.
function Resolve-Reference {
    [CmdletBinding()]
    param([hashtable] $Run, $Document)
    if ($Document -is [Collections.IDictionary]) {
        if ($Document.Count -eq 1 -and $Document.Contains('ref')) { return , (Get-Reference $Run $Document['ref']) }
        $tree = New-Object Collections.Specialized.OrderedDictionary
        foreach ($key in $Document.Keys) { $tree[$key] = Resolve-Reference $Run $Document[$key] }
        return $tree
    }
    if ($Document -is [Collections.IList]) {
        $list = New-Object object[] $Document.Count
        for ($place = 0; $place -lt $list.Length; $place++) { $list[$place] = Resolve-Reference $Run $Document[$place] }
        return , $list
    }
    $Document
}

# A secret's text from AWS Secrets Manager, or one member of it when it is a JSON object.
function Get-Secret {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name, [string] $Member)
    if (-not $Run.Stored.ContainsKey($Name)) {
        $service = Get-Reference $Run 'facts.secret_service'
        if (-not $service.StartsWith('https://') -and $Run.Told.facts['world'] -ne 'sandbox') {
            throw (New-Failure 'secret-unavailable' "$service is not https")
        }
        $headers = @{ 'content-type' = 'application/x-amz-json-1.1'; 'x-amz-target' = 'secretsmanager.GetSecretValue' }
        $asked = @{
            Url = $service; Service = 'secretsmanager'; Method = 'POST'; Headers = $headers
            Body = ConvertTo-JsonText @{ SecretId = $Name }
        }
        try { $answer = Invoke-SignedRequest @asked }
        catch { throw (New-Failure 'secret-unavailable' "secret $Name at ${service}: $($_.Exception.Message)") }
        $Run.Stored[$Name] = (ConvertFrom-Json $Utf8.GetString($answer)).SecretString
    }
    $text = $Run.Stored[$Name]
    if ($Member) {
        $found = (ConvertFrom-Json $text).PSObject.Properties[$Member]
        if (-not $found) { throw (New-Failure 'secret-unavailable' "secret $Name has no member $Member") }
        $text = $found.Value
        if ($text -isnot [string]) { $text = ConvertTo-JsonText (ConvertTo-Tree $text) }
    }
    foreach ($line in $text.Split("`n")) { if ($line.Trim().Length -ge 6) { $Run.Unsaid[$line.Trim()] = $true } }
    $text
}

# The text without any line of a secret that this run read.
function Hide-Secret {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Text)
    foreach ($each in @($Run.Unsaid.Keys | Sort-Object Length -Descending)) { $Text = $Text.Replace($each, '[secret]') }
    $Text
}

# The memory between runs; values given are written into it.
function Update-Memory {
    [CmdletBinding()]
    param([hashtable] $Values = @{})
    $place = "$State\state.json"
    $memory = New-Object Collections.Specialized.OrderedDictionary
    if ([IO.File]::Exists($place)) { $memory = Read-Json $place }
    foreach ($key in $Values.Keys) { $memory[$key] = $Values[$key] }
    if ($Values.Count) { Set-WholeFile $place $Utf8.GetBytes((ConvertTo-JsonText $memory)) }
    $memory
}

# One word of a command line, quoted as CommandLineToArgvW reads it.
function ConvertTo-Argument {
    [CmdletBinding()]
    param([string] $Word)
    if ($Word -ne '' -and $Word -notmatch '[\s"]') { return $Word }
    '"' + (($Word -replace '(\\*)"', '$1$1\"') -replace '(\\+)$', '$1$1') + '"'
}

# Runs a program to its end; returns Code and Output. Too long is a failure, and another code without -AllowFailure.
function Invoke-Program {
    [CmdletBinding()]
    param(
        [string] $Program, [string[]] $Arguments = @(), [int] $TimeoutSeconds = 120,
        $Environment, [string] $InputText = '', [switch] $AllowFailure
    )
    $start = New-Object Diagnostics.ProcessStartInfo $Program
    $start.Arguments = @($Arguments | ForEach-Object { ConvertTo-Argument $_ }) -join ' '
    $start.UseShellExecute = $false
    $start.RedirectStandardInput = $start.RedirectStandardOutput = $start.RedirectStandardError = $true
    if ($Environment) {
        foreach ($name in $Environment.Keys) { $start.EnvironmentVariables[$name] = $Environment[$name] }
    }
    try { $process = [Diagnostics.Process]::Start($start) }
    catch { throw (New-Failure 'command-failed' "$Program cannot be started: $($_.Exception.Message)") }
    $reading = $process.StandardOutput.ReadToEndAsync(), $process.StandardError.ReadToEndAsync()
    $process.StandardInput.Write($InputText)
    $process.StandardInput.Close()
    if (-not $process.WaitForExit(1000 * $TimeoutSeconds)) {
        $process.Kill()
        throw (New-Failure 'command-timeout' "$Program took longer than $TimeoutSeconds s")
    }
    $output = @($reading | ForEach-Object { if ($_.Wait(5000)) { $_.Result } }) -join ''
    if ($process.ExitCode -ne 0 -and -not $AllowFailure) {
        $end = $output.Trim()
        if ($end.Length -gt 1500) { $end = $end.Substring($end.Length - 1500) }
        throw (New-Failure 'command-failed' "$Program ended with $($process.ExitCode): $end")
    }
    @{ Code = $process.ExitCode; Output = $output }
}
