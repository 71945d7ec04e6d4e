# Announcement of a machine that wants to join: an object of the bundle store with a random number, made once on the
# machine. The bootstrap token is derived from this number and the secret `join`, so the number alone is no secret. The
# control plane's agent creates the same token in the cluster (announcing.py of Linux). On GCP and Azure the
# announcement has a token that names the machine.

$JoinNumber = "$env:ProgramData\mullion\join-number"
$JoinLetters = '0123456789abcdefghijklmnopqrstuvwxyz'
$JoinIdentifier = 6    # characters of a bootstrap token before its dot
$JoinLength = 22    # without the dot

# .SYNOPSIS
# Return the machine's random number, 32 hexadecimal digits; the first call makes it.
function Get-JoinNumber {
    [CmdletBinding()]
    param()
    if (-not [IO.File]::Exists($JoinNumber)) {
        $bytes = [byte[]]::new(16)
        $random = [Security.Cryptography.RandomNumberGenerator]::Create()
        try { $random.GetBytes($bytes) } finally { $random.Dispose() }
        $digits = ([BitConverter]::ToString($bytes) -replace '-').ToLowerInvariant()
        Write-Content $JoinNumber $Utf8.GetBytes($digits) $Access.private
    }
    [IO.File]::ReadAllText($JoinNumber).Trim()
}

# .SYNOPSIS
# Return the bootstrap token of a machine that announced the number.
function ConvertTo-JoinToken {
    [CmdletBinding()]
    param([string] $Secret, [string] $Number)
    $key = [Security.Cryptography.HMACSHA256]::new($Utf8.GetBytes($Secret.Trim()))
    try { $made = $key.ComputeHash($Utf8.GetBytes($Number)) } finally { $key.Dispose() }
    $text = -join ($made[0..($JoinLength - 1)] | ForEach-Object { $JoinLetters[$_ % $JoinLetters.Length] })
    "$($text.Substring(0, $JoinIdentifier)).$($text.Substring($JoinIdentifier))"
}

# .SYNOPSIS
# Announce this machine and return its bootstrap token; a check announces nothing.
function Get-JoinToken {
    [CmdletBinding()]
    param([hashtable] $Run, [string] $Name)
    $secret = Get-Secret $Run $Name
    if ($Run.Checking) { return '' }
    $number = Get-JoinNumber
    $store = (Get-Reference $Run 'facts.bundle_store').TrimEnd('/')
    try {
        $me = Get-Instance
        $records = (Get-Reference $Run 'facts.status_url').Split('/')[-1]
        $sent = @{
            Url = "$store/join/$records$me.json"; Service = 'store'; Method = 'PUT'
            Body = ConvertTo-JsonText (@{ number = $number; instance = $me } + (Get-Proof $number))
            Headers = @{ 'content-type' = 'application/json' }
        }
        [void](Invoke-SignedRequest @sent)
    }
    catch { throw (New-Failure 'store-failed' "$store/join: $($_.Exception.GetBaseException().Message)") }
    $token = ConvertTo-JoinToken $secret $number
    Add-Unsaid $Run $token
    $token
}
