"""collect_logs.py: what a machine collects on request and what it leaves out."""

import base64
import importlib
import io
import json
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.machine.bundle import CLOUD_INIT, REDACTION
from tests.cloud_init.cloud import INSTANCE, FakeCloud
from tests.cloud_init.linux import TOKEN, Programs, put

NAME = f"AROAEXAMPLE:{INSTANCE}.json"
ENCRYPTION_KEY = "c2VjcmV0Ym94a2V5MDEyMzQ1Njc4OWFiY2RlZg=="


@pytest.fixture
def collect(
    node: ModuleType, programs: Programs, root: Path, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    """Return collect_logs.py on a machine whose files and programs have a token, an encryption and a private key."""
    store = f"{cloud.url}/bundles"
    facts = {"cloud": "aws", "world": "sandbox", "secret_service": f"{cloud.url}/", "join_secret": "join"}
    facts |= {"bundle_store": store, "status_url": f"{store}/status/AROAEXAMPLE%3A"}
    put(root, "/opt/mullion/machine.json", json.dumps({"machine": {"name": "linux-0"}, "facts": facts}))
    put(root, "/var/lib/mullion/result.json", json.dumps({"state": "failed", "message": f"join with {TOKEN}"}))
    put(root, "/etc/kubernetes/encryption/configuration.json", json.dumps({"secret": ENCRYPTION_KEY}))
    put(root, "/etc/kubernetes/manifests/kube-apiserver.yaml", f"command: [{ENCRYPTION_KEY}]")
    put(root, "/var/log/pods/kube-system_etcd-0_1/etcd/0.log", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n")
    programs.answers["journalctl --no-pager --unit kubelet"] = (0, f"kubelet: got word-of-mouth {TOKEN}\n")
    programs.answers["/usr/local/bin/crictl"] = (1, "cannot connect\n")
    cloud.secrets["join"] = "word-of-mouth"
    put(root, "/opt/mullion/current/plan.json", "{}")
    put(root, f"/opt/mullion/current/{REDACTION}", (CLOUD_INIT / REDACTION).read_text())
    module = importlib.import_module("collect_logs")
    monkeypatch.setattr(module, "HERE", root / "opt/mullion/current")
    return module


def unpacked(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        return {name: packed.read(name).decode() for name in packed.namelist()}


def test_ops_02_the_archive_has_all_sources_without_a_planted_secret(
    collect: ModuleType, root: Path, tmp_path: Path
) -> None:
    """OPS-02: also a secret that matches no pattern, and one in a file that is not collected."""
    collect.main(["--output", str(tmp_path / "logs.zip")], root)
    files = unpacked((tmp_path / "logs.zip").read_bytes())
    assert {"mullion/result.json", "mullion/machine.json", "plan/plan.json", "journal/kubelet.txt",
            "kubelet/kube-apiserver.yaml", "system/routes.txt", "versions/kubelet.txt",
            "pods/kube-system_etcd-0_1/etcd/0.log"} <= set(files)  # fmt: skip
    whole = "\n".join(files.values())
    for secret in (TOKEN, ENCRYPTION_KEY, "MIIE", "word-of-mouth"):
        assert secret not in whole
    assert files["journal/kubelet.txt"] == "kubelet: got [secret] [secret]\n"
    assert "encryption" not in str(list(files))
    assert files["runtime/containers.txt"] == "cannot connect\n"
    assert (tmp_path / "logs.zip").stat().st_mode & 0o777 == 0o600


def test_a_file_and_the_whole_archive_are_limited(
    collect: ModuleType, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "PER_FILE", 100)
    monkeypatch.setattr(collect, "WHOLE", 1000)
    for number in range(30):
        put(root, f"/var/lib/mullion/{number:02}.json", "begin" + 200 * "x" + "end")
    collect.main(["--output", str(tmp_path / "logs.zip")], root)
    files = unpacked((tmp_path / "logs.zip").read_bytes())
    assert files["mullion/00.json"] == 97 * "x" + "end"
    assert files["mullion/29.json"].startswith("left out")
    assert len(files) > 40, "what is left out is named"


def ask(cloud: FakeCloud, question: str) -> None:
    cloud.objects[f"/bundles/requests/{NAME}"] = json.dumps({"id": question}).encode()


def answer(cloud: FakeCloud) -> dict[str, Any]:
    return json.loads(cloud.objects[f"/bundles/logs/{NAME}"])


def test_each_request_gets_one_answer(collect: ModuleType, root: Path, cloud: FakeCloud) -> None:
    collect.main(["--requested"], root)
    assert f"/bundles/logs/{NAME}" not in cloud.objects, "nobody asked"
    ask(cloud, "first")
    collect.main(["--requested"], root)
    assert answer(cloud)["id"] == "first"
    assert "journal/kubelet.txt" in unpacked(base64.b64decode(answer(cloud)["archive"]))
    del cloud.objects[f"/bundles/logs/{NAME}"]
    collect.main(["--requested"], root)
    assert f"/bundles/logs/{NAME}" not in cloud.objects, "it was answered"
    ask(cloud, "second")
    collect.main(["--requested"], root)
    assert answer(cloud)["id"] == "second"
    assert not cloud.refused()


def test_a_request_larger_than_any_of_ours_is_not_answered(collect: ModuleType, root: Path, cloud: FakeCloud) -> None:
    """Who can write the store could have a large object read into a machine's memory."""
    ask(cloud, "x" * 4096)
    collect.main(["--requested"], root)
    assert f"/bundles/logs/{NAME}" not in cloud.objects


def test_a_store_that_does_not_answer_raises_no_error(collect: ModuleType, root: Path, cloud: FakeCloud) -> None:
    ask(cloud, "first")
    cloud.fail(f"/bundles/requests/{NAME}", [503])
    collect.main(["--requested"], root)
    assert f"/bundles/logs/{NAME}" not in cloud.objects
