"""Changes of the project's own scripts, each of which breaks one rule."""

from tests.powershell_lint.mutation import Mutation
from tests.powershell_lint.mutations_of_values import ARGUMENTS, DOCUMENTS

PROBE, HOST = "operations/verification/probe.ps1", "sandbox/boot/windows/host.ps1"

LANGUAGE = [
    Mutation(
        "kinds/services.ps1", "if ($Step['demand']) { 3 } else { 2 }", "$Step['demand'] ? 3 : 2", "?: is not in 5.1"
    ),
    Mutation("modules/run.ps1", "$message = $cause.Message", "$message = $cause.Message ?? ''", "?? is not in 5.1"),
    Mutation("modules/native.ps1", "    $type.CreateType()", "    $type?.CreateType()", "$type? is set by no script"),
    Mutation("modules/native.ps1", "    $type.CreateType()", "    ${type}?.CreateType()", "?. is not in 5.1"),
    Mutation(
        "image/clean.ps1",
        "& sc.exe delete $name",
        "sc.exe delete $name && hostname.exe",
        "a chain of && or || is not in 5.1",
    ),
    Mutation("image/clean.ps1", "& sc.exe delete $name", "& sc.exe delete $name &", "& behind a command"),
    Mutation("modules/secrets.ps1", 'Split("`n")', 'Split("`e$Run")', "the escape `e"),
    Mutation("modules/tar.ps1", "[byte] 32", "32uy", "the suffix of 32uy"),
    Mutation(
        "kinds/network.ps1", " | Out-String", "\n        | Out-String", "begins with |", at="        | Out-String"
    ),
    Mutation(
        "modules/json.ps1",
        "        return $tree\n    }",
        "        return $tree\n",
        "Missing closing '}'",
        at="function ConvertTo-Tree",
    ),
    Mutation(
        "modules/secrets.ps1", "$text = $Run.Stored[$Name]", "$text = $IsWindows", "$IsWindows is set by no script"
    ),
    Mutation(
        "loader.ps1",
        "[CmdletBinding()]\n    param([byte[]] $Bytes)",
        "param([byte[]] $Bytes)",
        "no CmdletBinding",
        at="function ConvertTo-Hex",
    ),
    Mutation(
        "loader.ps1",
        "# .SYNOPSIS\n# Return bytes as",
        "# Return bytes as",
        "no comment help",
        at="function ConvertTo-Hex",
    ),
    Mutation("epoch.ps1", "function Restart-Watcher", "function Reboot-Watcher", "no approved verb"),
]
COMMANDS = [
    Mutation("loader.ps1", "Trigger -AtStartup", "Trigger -AtStartup -AtLogOn", "takes no -AtLogOn with -AtStartup"),
    Mutation("image/bake.ps1", "-MultipleInstances IgnoreNew", "-Parallel 2", "no parameter -Parallel"),
    Mutation("loader.ps1", "@task -Force)", "@task -Force -T 1)", "no parameter -T "),
    Mutation(
        "image/bake.ps1",
        "Trigger   = New-Sch",
        "Start = New-Sch",
        "no parameter -Start",
        at="[void](Register-ScheduledTask @job",
    ),
    Mutation("kinds/files.ps1", " -AclObject $acl", "", "Set-Acl needs -AclObject"),
    Mutation(
        "kinds/files.ps1",
        "Get-Acl -LiteralPath $Path",
        "Get-Acl -LiteralPath $Path -Path $Path",
        "takes no -LiteralPath with -Path",
    ),
    Mutation(
        "kinds/network.ps1",
        "InterfaceIndex = $route.InterfaceIndex; ",
        "",
        "New-NetRoute needs -InterfaceAlias",
        at="[void](New-NetRoute",
    ),
    Mutation("kinds/network.ps1", "$shown = & netsh.exe", "$shown = & Join-String", "Join-String is no command"),
    Mutation(
        "modules/json.ps1", "ConvertFrom-Json $Text", "ConvertFrom-Json $Text -AsHashtable", "no parameter -AsHashtable"
    ),
    Mutation("image/bake.ps1", "Unregister-ScheduledTask", "ls C:\\; Unregister-ScheduledTask", "ls is no command"),
    Mutation("kinds/flannel.ps1", "Stop } | ForEach-Object", "Stop } | %", "alias %"),
    Mutation("modules/steps.ps1", "Start-Sleep -Seconds $wait", "Get-Date", "Get-Date is forbidden"),
    Mutation(
        "collect-logs.ps1", "-TimeoutSeconds $Seconds", "-Limit $Seconds", "Invoke-Program has no parameter -Limit"
    ),
]
FRAMEWORK = [
    Mutation(
        "loader.ps1", "[IO.File]::Move($New, $Path)", "[IO.File]::Move($New, $Path, $true)", "no Move with 3 arguments"
    ),
    Mutation(
        "loader.ps1", "[BitConverter]::ToString($Bytes)", "[Convert]::ToHexString($Bytes)", "Convert has no ToHexString"
    ),
    Mutation(
        "loader.ps1",
        "[Security.Cryptography.SHA256]::Create().ComputeHash(",
        "[Security.Cryptography.SHA256]::HashData(",
        "no HashData",
    ),
    Mutation(
        "kinds/files.ps1",
        "[void](New-Item -ItemType SymbolicLink -Path $path -Target $target)",
        "[IO.File]::CreateSymbolicLink($path, $target)",
        "IO.File has no CreateSymbolicLink",
    ),
    Mutation("modules/programs.ps1", "$start.Arguments =", "$start.ArgumentList =", "no ArgumentList"),
    Mutation(
        "modules/programs.ps1",
        "$process.WaitForExit(1000 * $TimeoutSeconds)",
        "$process.Kill($true)",
        "Process has no Kill with 1 arguments",
    ),
    Mutation(
        "kinds/archives.ps1",
        "$unpacking = @{",
        "$unpacking.Source.ReplaceLineEndings()\n    @{",
        "has ReplaceLineEndings",
    ),
    Mutation(
        "kinds/archives.ps1", "$Name.StartsWith('/')", "$Name.Contains('/', 'Ordinal')", "no Contains with 2 arguments"
    ),
    Mutation("modules/steps.ps1", "[Math]::Min($attempt, ", "[Math]::Clamp($attempt, 0, ", "Math has no Clamp"),
    Mutation(
        "kinds/system.ps1", "[Environment]::MachineName", "[Environment]::ProcessPath", "Environment has no ProcessPath"
    ),
    Mutation("modules/scm.ps1", "[uint32] $Start", "[uint] $Start", "type uint is not in"),
    Mutation(
        "modules/downloads.ps1",
        "[Threading.Tasks.Task[]]",
        "[Threading.PeriodicTimer[]]",
        "type Threading.PeriodicTimer is not in",
    ),
    Mutation(
        HOST,
        "New-Object Diagnostics.ProcessStartInfo $Path, $Arguments",
        "New-Object Net.Http.HttpClient",
        "Net.Http.HttpClient needs Add-Type",
    ),
    Mutation(
        "rotate-logs.ps1",
        "$Logs)) { exit 0 }",
        "$Logs) -or 1 -is 'Net.Http.HttpMethod') { exit 0 }",
        "Net.Http.HttpMethod needs Add-Type",
    ),
]
ENUMERATIONS = [
    Mutation("collect-logs.ps1", "'ReadWrite, Delete'", "'ReadWrite, Remove'", "'ReadWrite, Remove' is not in"),
    Mutation("modules/certificates.ps1", "'UntrustedRoot, PartialChain'", "'Untrusted'", "'Untrusted' is not in"),
    Mutation("loader.ps1", "-bor 'Tls12'", "-bor 'Tls12, Tls13'", "'Tls12, Tls13' is not in"),
    Mutation(
        "kinds/files.ps1",
        "[Security.AccessControl.FileSecurity]::new()",
        'New-Object "Security.AccessControl.${sid}Security"',
        "computed name",
    ),
    Mutation("kinds/system.ps1", "'Install-WindowsFeature'", "'Add-WindowsFeatures'", "is no command"),
]
VALUES = [
    Mutation(
        "kinds/network.ps1",
        "(@($ports.LocalPort) -join ',') -eq ($Step['ports'] -join ',')",
        "@($ports.LocalPort) -join ',' -eq $Step['ports'] -join ','",
        "needs parentheses",
    ),
    Mutation(
        "modules/reports.ps1", "ConvertTo-JsonText $record", "ConvertTo-Json $record", "ConvertTo-Json without -Depth"
    ),
    Mutation("modules/reports.ps1", "ConvertTo-JsonText $record", "$record | ConvertTo-Json -Depth 9", "-InputObject"),
    Mutation(
        "loader.ps1",
        'Split("`n")[0].Trim()) | ConvertFrom-Json',
        'Split("`n")[0].Trim()) | ConvertFrom-Json | Select-Object -First 1',
        "into parentheses",
    ),
    Mutation(
        "modules/hns-requests.ps1",
        "{ return ConvertFrom-Json $Text }\n    $found",
        "{ return @(ConvertFrom-Json $Text) }\n    $found",
        "into parentheses",
    ),
    Mutation(
        "epoch.ps1",
        "$running = @($Watching | Where-Object { (Get-ServiceState $_) -eq 'Running' })",
        "$running = $Watching | Where-Object { $_ }",
        "$running.Count: one object has no Count",
        at="    for ($place = $running.Count",
    ),
    Mutation(
        "kinds/network.ps1",
        '$found = @(Find-NetObject { Get-NetRoute -DestinationPrefix "$address/32" -ErrorAction Stop })',
        '$found = Get-NetRoute -DestinationPrefix "$address/32"',
        "$found.Count: one object",
        at="        if ($wrong -or -not $found.Count)",
    ),
    Mutation(
        "kinds/system.ps1",
        "@(Get-LocalUser | Where-Object { $_.Name -eq $Step['user'] -and $_.Enabled }).Count",
        "(Get-LocalUser).Count",
        "one object has no Count",
    ),
    Mutation(
        "rotate-logs.ps1",
        "ToString('yyyyMMddTHHmmssfff', $Invariant)",
        "ToString('yyyyMMddTHHmmssfff')",
        "ToString('yyyyMMddTHHmmssfff') writes in the culture",
    ),
    Mutation("loader.ps1", "{0:s}Z mullion", "{0:dd.MM.yyyy} mullion", "-f writes {:dd.MM.yyyy}"),
    Mutation("loader.ps1", "Parse($told.Late, $Invariant)", "Parse($told.Late)", "reads in the culture"),
    Mutation("loader.ps1", "ToLowerInvariant()", "ToLower()", "use ToLowerInvariant"),
    Mutation("modules/run.ps1", "$Name.Split('.', 2)", "$Name.Split('::')", "splits at each of its characters"),
]
PROGRAMS = [
    Mutation(
        "image/bake.ps1",
        '[IO.File]::AppendAllText("$Folder\\bake.log", "$line`r`n")',
        'Add-Content "$Folder\\bake.log" $line',
        "Add-Content without -Encoding",
    ),
    Mutation(
        "image/bake.ps1",
        '[IO.File]::AppendAllText("$Folder\\bake.log", "$line`r`n")',
        'Out-File "$Folder\\bake.log" -InputObject $line -Encoding utf8NoBOM',
        "utf8NoBOM is not in 5.1",
    ),
    Mutation("image/bake.ps1", "[Console]::WriteLine($line)", '$line >> "$Folder\\bake.log"', "> writes UTF-16"),
    Mutation(
        "kinds/network.ps1", "dynamicportrange @words", "dynamicportrange @words 2>&1", "throws NativeCommandError"
    ),
    Mutation("image/generalize.ps1", "& $Program @Words", "& $Program @Words 2>$null", "throws NativeCommandError"),
    Mutation(PROBE, "--state ready --quiet", "--state ready --quiet 2>$null", "throws NativeCommandError"),
    Mutation("image/clean.ps1", "sc.exe delete $name", "sc.exe delete $name ''", "drops an empty argument"),
    Mutation("image/clean.ps1", "sc.exe delete $name", 'sc.exe delete "`"$name`""', "does not escape"),
    Mutation(PROBE, "Invoke-WebRequest -UseBasicParsing", "Invoke-WebRequest", "needs Internet Explorer"),
    Mutation(
        "image/generalize.ps1",
        "Invoke-Own 'shutdown.exe' '/s', '/t', '0'",
        "Start-Process 'shutdown.exe' -Wait",
        "waits for all programs",
    ),
    Mutation(
        "loader.ps1",
        "[Net.ServicePointManager]::SecurityProtocol = ",
        "$null = ",
        "offers no TLS 1.2",
        at="    $request = [Net.WebRequest]::CreateHttp($Url)",
    ),
]
MUTATIONS = [*LANGUAGE, *COMMANDS, *FRAMEWORK, *ENUMERATIONS, *VALUES, *ARGUMENTS, *DOCUMENTS, *PROGRAMS]
