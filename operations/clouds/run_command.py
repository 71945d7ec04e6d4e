"""A command on a machine of Azure, by its action Run Command: needs no shell, session, port or account of the machine.

The agent of the machine runs a script as root (Linux, sh) or SYSTEM (Windows PowerShell): one at a time, for at most 90
minutes, without input; it cannot be cancelled. Azure returns the last 4096 bytes of output, after 20 seconds at the
earliest. Source: https://learn.microsoft.com/azure/virtual-machines/linux/run-command and .../windows/run-command.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 4096
"""Bytes of output that Azure returns: the last ones."""
_NEARLY = MOST_BYTES - 96
"""Bytes from which output counts as cut: Azure's own words are among the 4096."""
_MARK = "mullion-exit-code: "
_LINUX = f"""(
%s
)
echo "{_MARK}$?"
"""
_WINDOWS = f"""$code = 0
$global:LASTEXITCODE = 0
try {{
%s
if (-not $?) {{ $code = 1 }}
}} catch {{
[Console]::Error.WriteLine("$_")
$code = 1
}}
if ($LASTEXITCODE -ne 0) {{ $code = $LASTEXITCODE }}
"{_MARK}$code"
"""
_ENDED = re.compile(rf"^{_MARK}(-?\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Ran:
    """What a command wrote, and its exit code; None if it ended the script before that was written."""

    output: str
    errors: str
    code: int | None

    @property
    def is_cut(self) -> bool:
        """Whether Azure may have returned the end of the output only."""
        return len((self.output + self.errors).encode()) >= _NEARLY


def script(command: Sequence[str], *, is_windows: bool) -> str:
    """Return the script of a command: its words joined by spaces, as ssh does, then a line with the exit code.

    Azure itself reports success whatever a script's exit code is (Azure/azure-cli#14425).
    """
    return (_WINDOWS if is_windows else _LINUX) % " ".join(command)


def words(machine: str, file: Path, *, is_windows: bool) -> list[str]:
    """Return the command that runs a script. machine: resource id. file: of the script, so no argument has its text."""
    id_ = "RunPowerShellScript" if is_windows else "RunShellScript"
    invoke = ["az", "vm", "run-command", "invoke", "--ids", machine, "--command-id", id_]
    return [*invoke, "--scripts", f"@{file}", "--output", "json"]


def read(answer: str) -> Ran:
    """Read what `az vm run-command invoke` prints. Raises ValueError for another form.

    Linux: one text with the parts [stdout] and [stderr] (Azure/azure-cli#32286). Windows: two texts, StdOut and StdErr
    (MicrosoftDocs/azure-docs-cli#4542).
    """
    try:
        texts = {str(each["code"]).split("/")[1]: str(each["message"] or "") for each in json.loads(answer)["value"]}
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ValueError(f"az printed no result of a run command: {answer[:200]!r}") from error
    if "StdOut" in texts:
        output, errors = texts["StdOut"], texts.get("StdErr", "")
    else:
        text = "".join(texts.values())
        before, _, errors = text.rpartition("\n[stderr]\n")
        output = before.partition("[stdout]\n")[2] if "[stdout]\n" in before else before or text
    ends = list(_ENDED.finditer(output))
    if not ends:
        return Ran(output, errors, None)
    return Ran(output[: ends[-1].start()], errors, int(ends[-1][1]))
