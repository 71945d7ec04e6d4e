"""Scripts for Windows use only what Windows PowerShell 5.1 has, checked by its parser and by tables."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from components.machine.bundle import CLOUD_INIT
from sandbox.boot.windows.winpwsh import Machine
from tests.cloud_init.windows import FILES

LINT = Path(__file__).with_name("powershell_lint.ps1")

OPERATORS = ["QuestionQuestion", "QuestionQuestionEquals", "QuestionDot", "QuestionLBracket", "AndAnd", "OrOr"]
"""Tokens added by PowerShell 7 ("What's New in PowerShell 7.0")."""
FORBIDDEN = ["Invoke-Expression", "Test-Json", "Join-String", "Get-Error", "ConvertFrom-Markdown", "Remove-Alias",
             "Invoke-WebRequest", "Invoke-RestMethod", "Get-FileHash", "Get-WmiObject", "Get-Date"]  # fmt: skip
"""Not in 5.1, or banned: two web clients are enough, and waits must use Stopwatch, not a clock that can jump."""
MEMBERS = ["Kill($true)", "CreateSymbolicLink", "SkipLast", "GetRelativePath", "CustomTrustStore", "TrustMode",
           "ImportFromPem", "HashData", "ToHexString", "ArgumentList", "SplitOptions"]  # fmt: skip
"""Members of .NET that .NET Framework 4.7.2 (Windows Server 2019) lacks."""
COMMON = ["ErrorAction", "Confirm"]
COMMANDS: dict[str, list[str]] = {
    "Add-Type": ["AssemblyName"],
    "ConvertFrom-Json": [],
    "ForEach-Object": [],
    "Get-Acl": ["LiteralPath"],
    "Get-Item": ["LiteralPath", "Force"],
    "Get-WinEvent": ["MaxEvents"],
    "Join-Path": [],
    "New-Item": ["ItemType", "Path", "Target"],
    "New-Object": [],
    "Out-String": [],
    "Rename-Computer": ["NewName", "Force"],
    "Restart-Computer": ["Force"],
    "Select-Object": ["First", "Skip"],
    "Set-Acl": ["LiteralPath", "AclObject"],
    "Set-StrictMode": ["Version"],
    "Sort-Object": ["Descending"],
    "Start-Sleep": ["Seconds", "Milliseconds"],
    "Where-Object": [],
    # ScheduledTasks
    "Get-ScheduledTask": ["TaskName"],
    "New-ScheduledTaskAction": ["Execute", "Argument"],
    "New-ScheduledTaskPrincipal": ["UserId", "LogonType", "RunLevel"],
    "New-ScheduledTaskSettingsSet": ["ExecutionTimeLimit", "MultipleInstances", "Priority", "RestartInterval"],
    "New-ScheduledTaskTrigger": ["AtStartup"],
    "Register-ScheduledTask": ["Force"],
    "Start-ScheduledTask": ["TaskName"],
    "Unregister-ScheduledTask": ["TaskName"],
    # NetAdapter, NetSecurity, NetTCPIP
    "Get-NetAdapter": [],
    "Get-NetFirewallAddressFilter": [],
    "Get-NetFirewallPortFilter": [],
    "Get-NetFirewallProfile": [],
    "Get-NetFirewallRule": ["Name"],
    "Get-NetIPInterface": ["AddressFamily"],
    "Get-NetRoute": ["DestinationPrefix"],
    "New-NetFirewallRule": [],
    "New-NetRoute": ["PolicyStore"],
    "Remove-NetFirewallRule": ["Name"],
    "Remove-NetRoute": [],
    "Set-NetFirewallProfile": ["Profile", "Enabled", "DefaultInboundAction"],
    "Set-NetIPInterface": ["AddressFamily", "Forwarding"],
    "Test-Path": [],
    # ServerManager, LocalAccounts, Defender, hns.psm1 of microsoft/SDN, programs
    "Get-WindowsFeature": ["Name"],
    "Install-WindowsFeature": ["Name"],
    "Disable-LocalUser": ["Name"],
    "Get-LocalUser": [],
    "Add-MpPreference": [],
    "Get-MpComputerStatus": [],
    "Get-MpPreference": [],
    "Invoke-HnsRequest": [],
    "netsh.exe": [],
    "sc.exe": [],
}
"""Commands that scripts use beside their own functions, with the parameters used; all exist in Windows
PowerShell 5.1 and Windows Server 2019 (learn.microsoft.com, module pages for 5.1 and for Windows Server 2019).
"""

TYPES = {
    assembly: names.split()
    for assembly, names in {
        "loaded": """
            PowerShell NullString bool byte char hashtable int long object ordered ref regex string switch type
            ScriptBlock uint32 void Management.Automation.PSCustomObject AggregateException Array BitConverter
            Collections.ArrayList Collections.IDictionary Collections.IEnumerable Collections.IList Console
            Convert DateTime Environment Exception Func Globalization.CultureInfo Guid IO.Directory
            IO.DirectoryInfo IO.DirectoryNotFoundException IO.DriveInfo IO.EndOfStreamException IO.File
            IO.FileAttributes IO.FileInfo IO.FileStream IO.IOException IO.MemoryStream IO.Path IO.Stream
            IO.StreamReader IntPtr InvalidOperationException Math Microsoft.Win32.Registry Predicate
            Reflection.AssemblyName Reflection.Emit.AssemblyBuilder Runtime.InteropServices.Marshal
            Security.AccessControl.FileSystemAccessRule Security.AccessControl.FileSystemRights
            Security.Cryptography.HMACSHA256
            Security.Cryptography.SHA256 Security.Cryptography.SHA512 Security.Principal.SecurityIdentifier
            Security.Principal.WindowsBuiltInRole Security.Principal.WindowsIdentity
            Security.Principal.WindowsPrincipal StringComparer Text.Encoding Text.UTF8Encoding
            Threading.AbandonedMutexException Threading.CancellationTokenSource Threading.Mutex
            Threading.Tasks.Task Threading.Timeout TimeSpan UnauthorizedAccessException ValueType Version
            Collections.Generic.HashSet Linq.Expressions.Expression Linq.Expressions.ParameterExpression
            Collections.Generic.Queue Collections.Specialized.OrderedDictionary Diagnostics.EventLog
            Diagnostics.EventLogEntryType Diagnostics.Process Diagnostics.ProcessStartInfo Diagnostics.Stopwatch
            IO.Compression.CompressionMode IO.Compression.GZipStream IO.InvalidDataException IO.Ports.SerialPort
            Net.Dns Net.IPAddress Net.IPEndPoint Net.Security.SslPolicyErrors Net.ServicePointManager
            Net.Sockets.Socket Net.Sockets.SocketException Net.Sockets.TcpClient Net.WebException Net.WebProxy
            Net.WebRequest Security.Authentication.AuthenticationException Security.Cryptography.Oid
            Security.Cryptography.OidCollection Text.RegularExpressions.MatchEvaluator Uri
            Security.Cryptography.X509Certificates.X509Certificate2
            Security.Cryptography.X509Certificates.X509Certificate2Collection
            Security.Cryptography.X509Certificates.X509Chain
            Security.Cryptography.X509Certificates.X509ChainStatus
            Security.Cryptography.X509Certificates.X509ChainStatusFlags
            Security.Cryptography.X509Certificates.X509RevocationMode
            Security.Cryptography.X509Certificates.X509VerificationFlags Xml.XmlConvert
        """,
        "System.IO.Compression": """
            IO.Compression.ZipArchive IO.Compression.ZipArchiveMode
        """,
        "System.Net.Http": """
            Net.Http.HttpClient Net.Http.HttpClientHandler Net.Http.HttpMethod Net.Http.HttpRequestMessage
            Net.Http.Headers.RangeHeaderValue
        """,
        "System.ServiceProcess": """
            ServiceProcess.ServiceController
        """,
    }.items()
}
"""Types that scripts use, by assembly of .NET Framework 4.7.2 (learn.microsoft.com, .NET Framework API browser).
loaded: PowerShell's own names, mscorlib, System, System.Core and System.Xml, which powershell.exe
5.1 loads at its start ([AppDomain]::CurrentDomain.GetAssemblies()).
"""


@pytest.mark.windows
@pytest.mark.subprocess
def test_scripts_parse_use_only_what_5_1_has_and_break_no_rule(machine: Machine) -> None:
    for file in FILES:
        target = machine.path(r"C:\scripts") / file.relative_to(CLOUD_INIT / "windows")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    commands = {name: [*known, *COMMON] for name, known in COMMANDS.items()}
    rules = {
        "operators": OPERATORS, "forbidden": FORBIDDEN, "members": MEMBERS, "commands": commands, "types": TYPES,
    }  # fmt: skip
    machine.path(r"C:\lint.json").write_text(json.dumps(rules))
    machine.path(r"C:\lint.ps1").write_bytes(LINT.read_bytes())
    assert machine.pwsh(r"& C:\lint.ps1")[1].strip() == ""


@pytest.mark.windows
@pytest.mark.subprocess
def test_the_lint_finds_each_broken_rule(machine: Machine) -> None:
    """Each script breaks one rule."""
    broken = {
        "?: is not in 5.1": "$x = $true ? 1 : 2",
        "?? is not in 5.1": "$x = $null ?? 1",
        "&& is not in 5.1": "hostname && hostname",
        "alias gci": "gci",
        "Invoke-Expression is forbidden": "Invoke-Expression '1'",
        "Get-Nothing is not in the table": "Get-Nothing",
        "ConvertFrom-Json -AsHashtable is not in the table": "ConvertFrom-Json '{}' -AsHashtable",
        "Do-It has no approved verb": "function Do-It { }",
        "Get-It has no CmdletBinding": "function Get-It { }",
        "Get-That has no comment help": "function Get-That { [CmdletBinding()] param() }",
        "CreateSymbolicLink is not in .NET Framework": "[IO.File]::CreateSymbolicLink('a', 'b')",
        "Missing closing '}'": "if ($true) {",
        "type Net.Nothing is not in the table": "[Net.Nothing]::new()",
        "Net.Http.HttpClient needs Add-Type -AssemblyName System.Net.Http": "[Func[Net.Http.HttpClient, int]] $null",
        "-join beside a comparison needs parentheses": "1, 2 -join ',' -eq '1,2'",
    }
    machine.path(r"C:\scripts").mkdir()
    for number, text in enumerate(broken.values()):
        machine.path(rf"C:\scripts\{number}.ps1").write_text(text)
    rules = {
        "operators": OPERATORS, "forbidden": FORBIDDEN, "members": MEMBERS, "commands": {"ConvertFrom-Json": []},
        "types": TYPES,
    }  # fmt: skip
    machine.path(r"C:\lint.json").write_text(json.dumps(rules))
    machine.path(r"C:\lint.ps1").write_bytes(LINT.read_bytes())
    said = machine.pwsh(r"& C:\lint.ps1")[1]
    assert [each for each in broken if each not in said] == [], said


def test_scripts_are_ascii_with_short_lines() -> None:
    for file in FILES:
        lines = file.read_bytes().decode("ascii").splitlines()
        assert max(map(len, lines)) <= 120, (file.name, [line for line in lines if len(line) > 120])
        # the loader is user-data, so one file; tests/components/machine/test_user_data.py limits its bytes
        assert len(lines) <= 250 or file.name == "loader.ps1", file.name


def test_no_function_of_the_executor_is_defined_twice() -> None:
    """All files run in one scope: of two functions with one name, the last one loaded would replace the other."""
    files = [each for part in ("modules", "kinds") for each in (CLOUD_INIT / "windows" / part).glob("*.ps1")]
    files.append(CLOUD_INIT / "windows" / "node.ps1")
    names = Counter(
        name.lower() for each in files for name in re.findall(r"(?mi)^function ([\w-]+)", each.read_text("ascii"))
    )
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == []


def test_the_wall_clock_is_only_recorded_never_compared() -> None:
    """Waits must neither end early nor last longer if the clock jumps; signatures use the service's clock."""
    allowed = (
        r"-f \[DateTime\]::UtcNow|\(\[DateTime\]::UtcNow \+ \$Site\.Offset\)|ToUniversalTime\(\) - \[DateTime\]::UtcNow"
    )
    for file in FILES:
        for line in file.read_text().splitlines():
            assert not re.search(r"\[DateTime\]::(Now|UtcNow|Today)|TickCount", re.sub(allowed, "", line)), (
                file.name,
                line,
            )
