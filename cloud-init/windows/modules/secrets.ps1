# Secrets: read with the machine's identity, redacted in all output.

$Shortest = 6    # minimum characters of a redacted line; redacting shorter ones would hide ordinary words

# .SYNOPSIS
# Return a secret's text from the cloud's store, or one member of a JSON object.
function Get-Secret {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name, [string] $Member)
    if (-not $Run.Stored.ContainsKey($Name)) { $Run.Stored[$Name] = Request-Secret $Run $Name }
    $text = $Run.Stored[$Name]
    if ($Member) {
        try { $found = (ConvertFrom-Json $text).PSObject.Properties[$Member] } catch { $found = $null }
        if (-not $found) { throw (New-Failure 'secret-unavailable' "secret $Name has no member $Member") }
        $text = $found.Value
        if ($text -isnot [string]) { $text = ConvertTo-JsonText (ConvertTo-Tree $text) }
        Add-Unsaid $Run $text
    }
    if (-not $text) { throw (New-Failure 'secret-unavailable' "secret $Name, member '$Member', is empty") }
    $text
}

# .SYNOPSIS
# Request a secret from the secret service and return its text.
function Request-Secret {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name)
    $service = Get-Reference $Run 'facts.secret_service'
    if (-not $service.StartsWith('https://') -and $Run.Told.facts['world'] -ne 'sandbox') {
        throw (New-Failure 'secret-unavailable' "$service is not https")
    }
    try { $text = [string] (& $Clouds[$Site.Facts.cloud].Secret $service $Name) }
    catch {
        $why = $_.Exception.GetBaseException().Message
        throw (New-Failure 'secret-unavailable' "secret $Name at ${service}: $why")
    }
    Add-Unsaid $Run $text
    $text
}

# .SYNOPSIS
# Redact each line of a secret from now on, also in JSON notation.
function Add-Unsaid {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Text)
    $lines = @($Text.Split("`n")) + $Text + (ConvertTo-JsonString $Text).Trim('"')
    foreach ($line in $lines) { if ($line.Trim().Length -ge $Shortest) { $Run.Unsaid[$line.Trim()] = $true } }
}

# .SYNOPSIS
# Return the text with every line of this run's secrets redacted.
function Hide-Secret {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Text)
    foreach ($each in @($Run.Unsaid.Keys | Sort-Object Length -Descending)) { $Text = $Text.Replace($each, '[secret]') }
    $Text
}
