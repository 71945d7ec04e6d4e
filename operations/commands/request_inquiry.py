"""`mullion request kubeconfig`, `verify` and `logs`: what a portal's workers find out or issue."""

import json
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from components.rollout.plain_text import plain
from operations.commands.portal_answers import Inquiry
from operations.commands.request import LOOK_SECONDS, Portal
from operations.console.exits import Exit, Stop
from operations.console.table import table

WAIT_SECONDS = 11400
"""Longest wait for an answer: somewhat more than a portal lets an inquiry wait (two hours) and run (one hour)."""


def _answered(portal: Portal, cluster: str, kind: str, body: Any = None) -> Any:
    """Ask, and return the inquiry with its answer. Print its messages to standard error. Raises Stop if it failed."""
    path, end = f"/clusters/{quote(cluster, safe='')}", time.monotonic() + WAIT_SECONDS
    found = portal.call(Inquiry, "POST", f"{path}/{kind}", body)
    while found["state"] in ("waiting", "running"):
        if time.monotonic() > end:
            raise Stop(Exit.FAILED, f"{plain(cluster)}: there is no answer yet; does a worker of the portal run?")
        time.sleep(LOOK_SECONDS)
        found = portal.call(Inquiry, "GET", f"{path}/inquiries/{found['id']}")
    said = "\n".join(plain(line) for line in found["said"].splitlines())
    if found["state"] != "done":
        raise Stop(Exit.FAILED, said or f"{plain(cluster)}: the portal gives no answer")
    if said:
        print(said, file=sys.stderr)
    return found


def kubeconfig(portal: Portal, cluster: str, output: str | None) -> None:
    """Make a key here, ask the portal for a certificate, and write both as a kubeconfig (mode 0600). Raises Stop.

    The portal gets the public key alone. Its answer is read field by field: kubectl runs programs that a kubeconfig
    names, so no other text of the portal gets into the file.
    """
    from components.machine import pki
    from operations.commands.kubeconfig import refuse_output, written

    refuse_output(output)
    key = pki.person_key()
    found = _answered(portal, cluster, "kubeconfig", {"public_key": key["public"]})["kubeconfig"]
    if found is None or not _is_for(key["public"], found["certificate"]):
        raise Stop(Exit.FAILED, f"{portal.server}: its answer has no certificate for the key that this command made")
    pair: pki.KeyPair = {"certificate": found["certificate"], "key": key["private"]}
    server = (found["server"], found["server_name"], found["certificate_authority"])
    text = pki.kubeconfig(cluster, found["user"], *server, pair)
    if output == "-":
        print(text, end="")
        return
    path = Path(output or f"{quote(cluster, safe='')}.kubeconfig")
    if written(path, text):
        print(plain(f"{path}: {found['user']} with the role {found['role']}, until {found['expires'][:16]} UTC"))
        print(f"  export KUBECONFIG={path.absolute()}")


def verify(portal: Portal, cluster: str, *, as_json: bool) -> None:
    """Print the result of each test. Raises Stop if one failed, or if nothing could be tested."""
    found = _answered(portal, cluster, "verify")["verify"] or {"passed": False, "rows": []}
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        fields = ("check", "where", "what", "verdict", "said")
        print(table(fields, [tuple(plain(row[field]) for field in fields) for row in found["rows"]]))
    if not found["passed"]:
        raise Stop(Exit.FAILED, f"{sum(row['verdict'] == 'failed' for row in found['rows'])} rows failed")


def logs(portal: Portal, cluster: str, machine: str, output: Path | None) -> None:
    """Save the archive of a machine's logs. Raises Stop."""
    from operations.commands.logs import write

    found = _answered(portal, cluster, "logs", {"machine": machine})
    content = portal.download(f"/clusters/{quote(cluster, safe='')}/inquiries/{found['id']}/archive")
    path = output or Path(f"{quote(cluster, safe='')}-{quote(machine, safe='')}.zip")
    write(path, content)
    print(f"{path} ({len(content) / 1024:,.0f} KiB), redacted on the machine; read it before you share it")


def _is_for(public: str, certificate: str) -> bool:
    from components.machine import pki

    try:
        return pki.certified_key(certificate) == public
    except ValueError:
        return False
