# JSON to ordered dictionaries and lists, and back to text.

# .SYNOPSIS
# Return the document with objects as ordered dictionaries, whose missing keys give $null even in strict mode.
function ConvertTo-Tree {
    [CmdletBinding()]
    param($Document)
    if ($Document -is [Management.Automation.PSCustomObject]) {
        $tree = [Collections.Specialized.OrderedDictionary]::new()
        foreach ($each in $Document.PSObject.Properties) {
            # Most values are copied here: a function call for each of a plan's thousand would take long.
            $value = $each.Value
            $tree[$each.Name] = if ($value -is [string] -or $value -is [bool]) { $value } else { ConvertTo-Tree $value }
        }
        return $tree
    }
    if ($Document -is [Collections.IList]) {
        $list = [object[]]::new($Document.Count)
        for ($place = 0; $place -lt $list.Length; $place++) {
            $each = $Document[$place]
            $list[$place] = if ($each -is [string]) { $each } else { ConvertTo-Tree $each }
        }
        return , $list
    }
    # PowerShell 7 parses strings that look like times as DateTime.
    if ($Document -is [DateTime]) { return $Document.ToUniversalTime().ToString('yyyy-MM-ddTHH:mm:ssZ', $Invariant) }
    , $Document
}

# .SYNOPSIS
# Parse a JSON text.
function ConvertFrom-JsonText {
    [CmdletBinding()]
    param([string] $Text)
    ConvertTo-Tree (ConvertFrom-Json $Text)
}

# .SYNOPSIS
# Parse a JSON file.
function Read-Json {
    [CmdletBinding()]
    param([string] $Path)
    ConvertFrom-JsonText ([IO.File]::ReadAllText($Path))
}

$Unescaped = [regex] '\A[\x20\x21\x23-\x5b\x5d-\x7e]*\z'    # texts that JSON only puts into quotes

# .SYNOPSIS
# Return a text as a JSON string in ASCII.
function ConvertTo-JsonString {
    [CmdletBinding()]
    param([string] $Text)
    $text = $Text.Replace('\', '\\').Replace('"', '\"')
    if ($text -match '[^\x20-\x7e]') {
        $escape = { param($match) '\u{0:x4}' -f [int] [char] $match.Value }
        $text = [regex]::Replace($text, '[^\x20-\x7e]', [Text.RegularExpressions.MatchEvaluator] $escape)
    }
    '"' + $text + '"'
}

# .SYNOPSIS
# Return JSON text. ConvertTo-Json of Windows PowerShell wraps some lists in objects and escapes more than needed.
function ConvertTo-JsonText {
    [CmdletBinding()]
    param($Tree)
    if ($null -eq $Tree) { return 'null' }
    if ($Tree -is [bool]) { return $Tree.ToString().ToLowerInvariant() }
    if ($Tree -is [string]) { return ConvertTo-JsonString $Tree }
    if ($Tree -is [Collections.IDictionary]) {
        # Most names and values are written here, without a function call for each.
        $members = foreach ($key in $Tree.Keys) {
            $value = $Tree[$key]
            $name = if ($Unescaped.IsMatch($key)) { "`"$key`": " } else { (ConvertTo-JsonString $key) + ': ' }
            if ($value -is [string] -and $Unescaped.IsMatch($value)) { "$name`"$value`"" }
            else { $name + (ConvertTo-JsonText $value) }
        }
        return '{' + (@($members) -join ', ') + '}'
    }
    if ($Tree -is [Collections.IEnumerable]) {
        $items = foreach ($each in $Tree) { ConvertTo-JsonText $each }
        return '[' + (@($items) -join ', ') + ']'
    }
    if ($Tree -is [ValueType]) { return [Convert]::ToString($Tree, $Invariant) }
    throw (New-Failure 'step-invalid' "no JSON for a $($Tree.GetType().Name)")
}
