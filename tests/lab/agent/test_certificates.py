"""Real kubeadm renews a machine's certificates although no API server answers and no turn can be had."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from components import releases
from components.node import retries
from tests.lab.conftest import Find

pytestmark = pytest.mark.lab

DAY = 86400


@pytest.mark.parametrize(
    ("days", "renewed"), [(340, False), (352, True), (400, True)], ids=["weeks left", "days left", "ended"]
)
def test_certificates_that_end_within_days_are_renewed_without_an_api(
    kubernetes: str,
    program: Find,
    module: Callable[[str], ModuleType],
    run: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    days: int,
    renewed: bool,
) -> None:
    """One control plane that is down for months gives no turn, and a cluster that was stopped has no API."""
    binary, pki = program("kubeadm", "linux"), tmp_path / "pki"
    documents = [
        {"kind": "InitConfiguration", "localAPIEndpoint": {"advertiseAddress": "192.0.2.10"}},
        {"kind": "ClusterConfiguration", "kubernetesVersion": f"v{kubernetes}", "certificatesDir": str(pki)},
    ]
    config = tmp_path / "kubeadm.yaml"
    config.write_text(
        yaml.safe_dump_all([{"apiVersion": releases.release(kubernetes).kubeadm_api, **each} for each in documents])
    )
    subprocess.run([binary, "init", "phase", "certs", "all", "--config", config], check=True, capture_output=True)
    renew = [str(binary), "certs", "renew", "all", "--cert-dir", str(pki), "--kubeconfig", str(tmp_path / "none")]
    stopped = tmp_path / "stopped"
    following = module("following").Following(run, "control-plane-0")
    (run.root / "etc").mkdir(exist_ok=True)
    monkeypatch.setattr(run, "path", lambda name: Path(name) if name.startswith(str(pki)) else run.root / name[1:])
    following.config = {
        "digest": "",
        "certificates": {"files": [f"{pki}/{each}.crt" for each in retries.CERTIFICATES], "days": 90, "renew": renew},
        "pods": {"find": {"etcd": ["echo", str(stopped)]}, "stop": ["touch"]},
    }
    before = serials(pki)
    now = time.time()
    monkeypatch.setattr(module("certificates").time, "time", lambda: now + days * DAY)
    run.try_for(60)
    following.step(None, None)
    assert (stopped.exists(), before != serials(pki)) == (renewed, renewed)
    assert renewed or following.expiring() == (True, False, False)


def serials(pki: Path) -> set[bytes]:
    """Return the serial numbers of the certificates."""
    return {
        subprocess.run(
            ["openssl", "x509", "-in", pki / f"{each}.crt", "-noout", "-serial"], check=True, capture_output=True
        ).stdout
        for each in retries.CERTIFICATES
    }
