"""The AuthorizationConfiguration of the real API server, with the list of revoked machines."""

import json
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.machine.bundle import CLOUD_INIT
from components.node.layout import PKI
from tests.awaited import until
from tests.lab.rendered import Rendered

if TYPE_CHECKING:
    from tests.lab.agent.served import Served

CONFIGURATION, WEBHOOK = "authorization.json", "webhook.json"
"""Files in the folder of the API server."""
RELOADS = "apiserver_authorization_config_controller_automatic_reloads_total"


def prepare(folder: Path, pki: Path, plan: Rendered) -> Path:
    """Write the planned configuration and the webhook's kubeconfig; return the configuration's path."""
    (folder / WEBHOOK).write_text(json.dumps(plan.content("authorization-webhook")).replace(PKI, str(pki)))
    write(folder, [])
    return folder / CONFIGURATION


def write(folder: Path, listed: list[str]) -> bool:
    """List users and certificates that are refused; return whether the file has changed."""
    module: dict[str, Any] = runpy.run_path(str(CLOUD_INIT / "linux" / "authorization.py"))
    file, content = folder / CONFIGURATION, module["document"](module["Refused"](listed, {}), str(folder / WEBHOOK))
    if file.exists() and file.read_bytes() == content:
        return False
    file.write_bytes(content)
    return True


def nobody(served: "Served") -> None:
    """Empty the list, and wait until the API server has read the file."""
    before = _reloads(served)
    if write(served.folder, []):
        until(lambda: _reloads(served) > before, "the API server has read the file", seconds=120)


def _reloads(served: "Served") -> int:
    """Return how often the API server has read a changed file."""
    lines = served.kubectl("get", "--raw", "/metrics").splitlines()
    return sum(int(float(each.rpartition(" ")[2])) for each in lines if each.startswith(RELOADS) and "success" in each)
