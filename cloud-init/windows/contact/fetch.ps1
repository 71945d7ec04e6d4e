# User-data of a first contact: downloads first-contact.ps1, checks its sha256 and runs it.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$Url, $Digest, $File = '<url>', '<digest>', 'C:\first-contact\first-contact.ps1'
if ([IO.File]::Exists('C:\first-contact\progress.json')) { exit 0 }    # some clouds run user-data at every boot
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor 'Tls12'
[void][IO.Directory]::CreateDirectory('C:\first-contact')
for ($try = 1; ; $try++) {
    try {
        $bytes = [Net.WebClient]::new().DownloadData($Url)
        break
    }
    catch {
        if ($try -ge 30) { throw }    # the network may come up after user-data starts
        Start-Sleep -Seconds 10
    }
}
$found = [BitConverter]::ToString([Security.Cryptography.SHA256]::Create().ComputeHash($bytes)).Replace('-', '')
if ($found -ne $Digest) { throw "$Url has sha256 $found, not $Digest" }
[IO.File]::WriteAllBytes($File, $bytes)
& powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File $File
exit $LASTEXITCODE
