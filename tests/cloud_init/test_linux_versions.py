"""What a control plane keeps of its versions while it is changed in place: its kubelet, archives, bundles."""

import os
from pathlib import Path
from typing import Any

from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.linux import Execute, Programs, put, sha256, tar_of
from tools.golden.samples import plan

CACHE = "/var/cache/mullion"
NAMES = ("download-kubernetes-node", "unpack-kubernetes-node", "kubeadm-upgrade", "unpack-kubelet")


def upgraded(cloud: FakeCloud, kubernetes: str) -> list[dict[str, Any]]:
    """Return the steps of a control plane's plan about Kubernetes' programs, in order; programs say their version."""
    content = tar_of({f"kubernetes/node/bin/{name}": kubernetes.encode() for name in ("kubelet", "kubeadm", "kubectl")})
    cloud.objects[f"/public/{kubernetes}"] = content
    here = {"url": f"{cloud.url}/public/{kubernetes}", "digest": sha256(content), "size": len(content)}
    documents = [step.document() for step in plan(None, kubernetes=kubernetes).steps]
    steps = [step for step in documents if step["name"] in NAMES or step.get("path") == CACHE]
    return [{**step, **here} if step["kind"] == "artifact" else step for step in steps]


def test_the_kubelet_stays_old_until_kubeadm_has_upgraded_the_api_server(
    execute: Execute, cloud: FakeCloud, programs: Programs, root: Path
) -> None:
    programs_of = root / "usr/local/bin"
    assert execute(*upgraded(cloud, "1.35.8"))["state"] == "done"
    put(root, "/var/lib/mullion/turn", "{}")
    programs.answers["/usr/bin/python3 -B -m agent.upgrade"] = (1, "etcd does not answer")
    ended = execute(*[{**step, "retries": 0} for step in upgraded(cloud, "1.36.4")])
    assert (ended["state"], ended["name"]) == ("failed", "command-failed")
    assert (programs_of / "kubeadm").read_text() == "1.36.4"
    assert (programs_of / "kubelet").read_text() == "1.35.8"
    programs.answers.clear()
    assert execute(*upgraded(cloud, "1.36.4"))["state"] == "done"
    assert (programs_of / "kubelet").read_text() == "1.36.4"


def test_archives_of_earlier_versions_are_deleted_once_the_plan_is_done(
    execute: Execute, cloud: FakeCloud, programs: Programs, root: Path
) -> None:
    folder = root / CACHE.lstrip("/")
    execute(*upgraded(cloud, "1.35.8"))
    put(root, f"{CACHE}/runc-1.0.part", "half")
    put(root, "/var/cache/other", "another program's")
    before = sorted(each.name for each in folder.iterdir())
    put(root, "/var/lib/mullion/turn", "{}")
    programs.answers["/usr/bin/python3 -B -m agent.upgrade"] = (1, "no")
    execute(*[{**step, "retries": 0} for step in upgraded(cloud, "1.36.4")])
    assert set(before) < {each.name for each in folder.iterdir()}, "a failed run deletes nothing"
    programs.answers.clear()
    execute(*upgraded(cloud, "1.36.4"))
    assert [each.name for each in folder.iterdir()] == ["kubernetes-node-1.36.4.tar.gz"]
    assert (root / "var/cache/other").exists()


def test_bundles_are_deleted_except_the_current_one_and_the_one_before(execute: Execute, root: Path) -> None:
    home = root / "opt/mullion"
    for age, name in enumerate(("current-one", "before", "older", "oldest", ".unpacking")):
        put(root, f"/opt/mullion/bundles/{name}/node.py", "")
        os.utime(home / "bundles" / name, (1e9 - age, 1e9 - age))
    (home / "current").symlink_to("bundles/current-one")
    assert execute({"kind": "file", "path": "relative", "content": ""})["state"] == "failed"
    assert len([*(home / "bundles").iterdir()]) == 5, "a failed run deletes nothing"
    assert execute()["state"] == "done"
    assert {each.name for each in (home / "bundles").iterdir()} == {"current-one", "before", ".unpacking"}
