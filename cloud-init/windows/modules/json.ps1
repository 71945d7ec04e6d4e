# JSON to ordered dictionaries and lists, and back to text.

# .SYNOPSIS
# Return the document with objects as ordered dictionaries, whose missing keys give $null even in strict mode.
function ConvertTo-Tree {
    [CmdletBinding()]
    param($Document)
    if ($Document -is [Management.Automation.PSCustomObject]) {
        $tree = [Collections.Specialized.OrderedDictionary]::new()
        foreach ($each in $Document.PSObject.Properties) {
            # Strings are copied here: a function call for each of a plan's thousand would take as long as its steps.
            $tree[$each.Name] = if ($each.Value -is [string]) { $each.Value } else { ConvertTo-Tree $each.Value }
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
        $members = foreach ($key in $Tree.Keys) {
            (ConvertTo-JsonString $key) + ': ' + (ConvertTo-JsonText $Tree[$key])
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
