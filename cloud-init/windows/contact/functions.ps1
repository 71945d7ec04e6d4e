# Checks of the machine, and of functions of the loader and the modules that no step tests alone.

$CurrentVersionKey = 'HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion'
$AbcDigest = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'    # FIPS 180-2, appendix B.1

# .SYNOPSIS
# Check Windows, PowerShell and .NET as the scripts expect them.
function Test-Surroundings {
    [CmdletBinding()]
    param($Wanted)
    Invoke-Check 'Windows: build' $Wanted['build'] {
        '10.0.{0}' -f [Microsoft.Win32.Registry]::GetValue($CurrentVersionKey, 'CurrentBuildNumber', '')
    }
    Invoke-Check 'Windows: InstallationType' 'Server( Core)?' -Like {
        [Microsoft.Win32.Registry]::GetValue($CurrentVersionKey, 'InstallationType', '')
    }
    Invoke-Check 'PowerShell: version' '5\.1\..*' -Like { $PSVersionTable['PSVersion'] }
    Invoke-Check 'PowerShell: language mode' 'FullLanguage' { $ExecutionContext.SessionState.LanguageMode }
    Invoke-Check 'PowerShell: 64 bits' 'True' { [Environment]::Is64BitProcess }
    Invoke-Check '.NET: version' '4\.0\.30319\..*' -Like { [Environment]::Version }
    Invoke-Check '.NET: TLS 1.2' 'True' { "$([Net.ServicePointManager]::SecurityProtocol)" -match 'Tls12' }
    Invoke-Check 'network: one default route' '1' {
        @(Get-NetRoute -DestinationPrefix '0.0.0.0/0' -ErrorAction Ignore).Count
    }
    foreach ($assembly in 'System.Net.Http', 'System.ServiceProcess', 'System.IO.Compression') {
        Invoke-Check ".NET: assembly $assembly is loaded once the modules are" 'True' {
            @([AppDomain]::CurrentDomain.GetAssemblies() | Where-Object { $_.GetName().Name -eq $assembly }).Count -gt 0
        }
    }
}

# .SYNOPSIS
# Check functions of the loader and of the modules, with known answers.
function Test-Functions {
    [CmdletBinding()]
    param([hashtable] $Run)
    Invoke-Check 'loader: Get-Sha256' $AbcDigest { Get-Sha256 $Utf8.GetBytes('abc') }
    Invoke-Check 'loader: Set-WholeFile replaces a file' 'two' {
        foreach ($text in 'one', 'two') { Set-WholeFile "$Contact\written.txt" $Utf8.GetBytes($text) }
        [IO.File]::ReadAllText("$Contact\written.txt")
    }
    Invoke-Check 'loader: Install-Bundle unpacks a bundle' 'True' {
        $bytes = [IO.File]::ReadAllBytes("$Contact\scripts.zip")
        $hash = Get-Sha256 $bytes
        Install-Bundle $bytes $hash
        [IO.File]::Exists("$Contact\bundles\$hash\node.ps1")
    }
    Invoke-Check 'loader: Install-Bundle refuses other bytes' '.*the bundle has sha256.*' -Like {
        try { Install-Bundle $Utf8.GetBytes('abc') ('0' * 64) } catch { $_.Exception.Message }
    }
    Invoke-Check 'loader: Get-Metadata' '\S+' -Like { Get-Instance }
    Invoke-Check 'modules: Get-ProviderId' "$($Run.Told.facts['cloud'])|gce|azure|aws" -Like {
        (Get-ProviderId).Split(':')[0]
    }
    Invoke-Check 'modules: JSON stays the same' '{"a": [1], "b": [], "c": {"d": null, "e": true}, "f": "\u00e4"}' {
        ConvertTo-JsonText (ConvertFrom-JsonText '{"a":[1],"b":[],"c":{"d":null,"e":true},"f":"\u00e4"}')
    }
    Invoke-Check 'modules: Invoke-Program passes words with blanks and quotes' 'a b "c" d\' {
        $echo = "$Contact\echo.ps1"
        Set-WholeFile $echo $Utf8.GetBytes('[Console]::Write($args -join " ")')
        $shell = [Diagnostics.Process]::GetCurrentProcess().MainModule.FileName
        $words = '-NoProfile', '-ExecutionPolicy', 'Bypass', '-File', $echo, 'a b', '"c"', 'd\'
        (Invoke-Program $shell $words).Output
    }
    Invoke-Check 'modules: Invoke-Program ends a program that hangs' '.*took longer than 2 s' -Like {
        try { [void](Invoke-Program 'ping.exe' @('-n', '30', '127.0.0.1') -TimeoutSeconds 2) }
        catch { $_.Exception.Message }
    }
    Invoke-Check 'modules: service control manager' 'Running|Stopped' -Like { Get-ServiceState 'EventLog' }
    Invoke-Check 'modules: HTTP client' 'Net.Http.HttpClient' {
        (Get-HttpClient $Run 'https://example.com/').GetType().FullName -replace '^System\.'
    }
    Test-AccessFunction
}

# .SYNOPSIS
# Check that access rules are read back as they were set.
function Test-AccessFunction {
    [CmdletBinding()]
    param()
    foreach ($name in 'private', 'public') {
        Invoke-Check "kinds: access $name is read back as set" 'True' {
            $folder = "$Contact\access-$name"
            [void][IO.Directory]::CreateDirectory($folder)
            Set-Access $folder $Access[$name]
            Test-Access $folder $Access[$name]
        }
    }
}
