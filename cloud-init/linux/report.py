"""Reports of a run: result file, status record in the bundle store, lines for the journal and the console."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import metrics
import x509
from metrics import Sample
from run import STATE, Run
from writing import write_whole

LONGEST = 1000
"""Maximum characters of a message in the status record."""
PRIORITIES = {"failed": "<3>"}
"""Prefix of a line that sets its priority in the journal (sd-daemon(3)); 3 is an error."""
SECONDS = 10
"""Timeout of a status record; its errors never fail a run."""

BUSY, PAUSE = (429, 503), 2
"""Statuses of a store that takes no more writes at the moment, and seconds until the second try."""

CA = "/etc/mullion/ca.crt"
"""Certificates of the authorities that the machine trusts."""

KUBELET = "/var/lib/kubelet/pki/kubelet-{}-current.pem"
"""The kubelet's certificates: client, server."""

API_SERVER = "/etc/kubernetes/manifests/kube-apiserver.yaml"
"""Static pod of the API server, on control planes."""

REPORTED = f"{STATE}/reported"
"""What the last status record that was written says of authorities: `trust`."""

ENDED = "run/mullion.ended"
"""Exists if a run has ended since this boot and no other has begun; a boot empties /run."""

Result = dict[str, Any]
"""{bundle, state: done | reboot | failed | checked, code, phases: [{name, steps: [{name, outcome, seconds}]}],
started, seconds}. If failed also name, message, phase and step; if reboot also phase and step.
"""


def say(text: str, state: str = "") -> None:
    """Write a line to the journal; the unit also copies it to the serial console."""
    journal = "JOURNAL_STREAM" in os.environ
    print(f"{PRIORITIES.get(state, '') if journal else ''}mullion: {text}", flush=True)


def summary(result: Result) -> str:
    """Return the result in one line."""
    if result["state"] == "failed":
        where = f"phase {result['phase']}, step {result['step']}"
        return f"E{result['code']} {result['name']} in {where}: {result['message']}"
    return f"{result['state']} in {result['seconds']} s, bundle {result['bundle']}"


def begin(root: Path) -> None:
    """Mark the result file as an earlier run's."""
    (root / ENDED).unlink(missing_ok=True)


def write_result(root: Path, result: Result) -> None:
    """Write result file and metrics. A full disk does not keep the result from the journal and the status record."""
    try:
        write_whole(root / STATE.lstrip("/") / "result.json", json.dumps(result, indent=1).encode(), 0o644)
        write_whole(root / ENDED, b"", 0o644)
    except Exception as error:
        say(f"result.json cannot be written: {error}", "failed")
    known = [Sample("mullion_run_code", result["code"]), Sample("mullion_run_ended_timestamp_seconds", time.time())]
    try:
        metrics.write(root, "run", known)
    except Exception as error:
        say(f"the metrics cannot be written: {error}", "failed")


def _write(run: Run, url: str, body: bytes) -> None:
    """Write a record; once more if the store was busy: Cloud Storage takes one write of an object in a second."""
    try:
        run.ask("store", url, "PUT", body, content_type="application/json")
    except HTTPError as error:
        if error.code not in BUSY:
            raise
        time.sleep(PAUSE)
        run.ask("store", url, "PUT", body, content_type="application/json")


def trust(root: Path) -> dict[str, str]:
    """Return what a status record says of authorities.

    authorities: SHA-256 (hex) of each certificate in the CA file, in order, with commas; empty if it has none.
    kubelet_signers: common names of the authorities that signed the kubelet's client and serving certificate, with a
    comma; empty for a certificate that it does not have.
    """
    try:
        trusted = ",".join(x509.prints((root / CA.lstrip("/")).read_text(errors="replace")))
    except (OSError, ValueError):
        trusted = ""
    signers = ",".join(_signer(root / KUBELET.format(each).lstrip("/")) for each in ("client", "server"))
    return {"authorities": trusted, "kubelet_signers": signers}


def issuers(root: Path) -> dict[str, str]:
    """Return what a control plane's status record says of issuers of service-account tokens; empty on workers.

    issuers: those of the API server's static pod in their order, with commas; the first one signs.
    """
    try:
        text = (root / API_SERVER.lstrip("/")).read_text(errors="replace")
    except OSError:
        return {}
    return {"issuers": ",".join(re.findall(r"^\s*- [\"']?--service-account-issuer=([^\s\"']+)", text, re.MULTILINE))}


def _signer(certificate: Path) -> str:
    try:
        return x509.common_name(x509.issuer(x509.first(certificate.read_text(errors="replace"))))
    except (OSError, ValueError):
        return ""


def record(run: Run, result: Result, **more: Any) -> None:
    """Write the machine's status record if the facts have a URL for it; more: additional members."""
    url = run.told["facts"].get("status_url")
    if not url:
        return
    run.try_for(SECONDS)
    try:
        me, known = run.cloud.instance(), trust(run.root)
        body = {
            "machine": run.told["machine"].get("name"),
            "instance": me,
            "bundle": result["bundle"],
            "state": run.reached if result["state"] == "done" else result["state"],
            **{name: result.get(name) for name in ("phase", "step", "code", "name")},
            "message": result.get("message", "")[:LONGEST],
            "kubernetes": run.remember().get("kubernetes"),
            **known,
            **issuers(run.root),
            "seconds": result["seconds"],
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time())),
            **more,
        }
        _write(run, f"{url}{me}.json", json.dumps(body).encode())
        write_whole(run.path(REPORTED), json.dumps(known).encode(), 0o600)
    except Exception as error:
        say(f"the status record cannot be written: {type(error).__name__}: {error}", "failed")
