# Loads the functions in modules\ and kinds\ into the script that dot-sources this one.

foreach ($folder in 'modules', 'kinds') {
    foreach ($file in [IO.Directory]::GetFiles("$PSScriptRoot\$folder", '*.ps1')) {
        # Security software may refuse these two; plain.ps1 does without them.
        try { . $file } catch { if ($file -notmatch '\\(native|scm)\.ps1$') { throw } }
    }
}
