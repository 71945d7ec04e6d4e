# The end of an image machine's user-data, after the functions of loader.ps1: fetches the bundle and starts bake.ps1,
# which continues by its own task after the restart. It registers no boot task, so nothing of the loader stays.
# EC2Launch may run it again after that restart.
if ([IO.File]::Exists("$Mullion\machine.json")) { exit 0 }
try {
    $told = ConvertFrom-Json $Document
    $Site.Facts = $told.facts
    Receive-Bundle $told.bundle.url $told.bundle.sha256
    & "$Mullion\bundles\$($told.bundle.sha256)\image\bake.ps1"
}
catch { Write-Log $_.Exception.Message; exit 1 }
