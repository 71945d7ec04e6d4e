"""First control plane of a cluster restored from a snapshot of etcd (`mullion restore`).

The machine's claim in the founding log has the snapshot's key; no other record can name one. The steps are not due on a
machine that joins, nor if the claim has no key.
"""

import json
import re
import shutil
import time
from pathlib import Path
from urllib.parse import quote

import objects
import snapshot_names
from failure import Failure
from report import say
from run import Run, Step
from writing import write_whole

from kinds import founding
from kinds.files import MODES

IMAGE = re.compile(r"(?m)^(\S+/etcd[:@]\S+)$")
CONTAINER = "mullion-restore"
CTR = ("ctr", "--namespace", "k8s.io")
POLL_SECONDS = 2


def restored_holds(run: Run, step: Step) -> bool:
    """Return whether the data are restored, or the step is not due."""
    return not run.path(step["requires"]).exists() or run.path(step["done"]).exists()


def make_restored(run: Run, step: Step) -> None:
    """Restore etcd's data atomically; do nothing if the machine's claim names no snapshot."""
    record = founding.own_claim(run, step)
    key = record.get("snapshot", "")
    if key:
        # inside etcd's directory, which may be a separate disk: the rename at the end must stay on one disk
        data = run.path(step["data"])
        folder = data / "restoring"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        data.chmod(0o700)
        fetch(run, step, key, folder / "snapshot.db")
        unpack(run, step, folder, record["epoch"])
        # left by an earlier attempt: etcd itself has not started yet
        shutil.rmtree(data / "member", ignore_errors=True)
        (folder / "data" / "member").rename(data / "member")
        shutil.rmtree(folder)
    write_whole(run.path(step["done"]), f"{key}\n".encode(), MODES["public"])


def fetch(run: Run, step: Step, key: str, file: Path) -> None:
    """Write the verified snapshot, or its copy, into a file.

    Raise Failure founding-refused, store-failed or digest-mismatch. Neither the record nor the store is trusted.
    """
    named = snapshot_names.signed(run.secret(run.value("facts.desired_state_secret")), key)
    if not named:
        text = f"the last record names {key!r}, which is no snapshot that this cluster's control plane has signed"
        raise Failure("founding-refused", text)
    try:
        whole(run, step["store"], key, named["sha256"], file)
    except Failure as failure:
        if "copies" not in step:
            raise
        say(f"the copy is taken, because {failure}")
        whole(run, step["copies"], key, named["sha256"], file)


def whole(run: Run, place: str, key: str, sha256: str, file: Path) -> None:
    """Write an object with this digest into a file. Raise Failure store-failed or digest-mismatch. place: URL."""
    url = f"{place.rstrip('/')}/{quote(key)}"
    try:
        found = objects.fetch(run, url, file)
    except OSError as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
    if found != sha256:
        raise Failure("digest-mismatch", f"{url} has sha256:{found}, another digest than in its name")


def unpack(run: Run, step: Step, folder: Path, epoch: int) -> None:
    """Restore the snapshot as a one-member cluster with the etcd image that kubeadm will start."""
    peer, image = f"https://{step['address']}:2380", etcd_image(run, step)
    remove(run, CONTAINER)  # left by an interrupted attempt
    words = restoring(step["argv"], folder, step["node"], peer, f"mullion-{epoch}")
    run.command(*contained(image, CONTAINER, folder, "--rm"), *words)


def etcd_image(run: Run, step: Step) -> str:
    """Return the etcd image that kubeadm starts; pull it if this machine lacks it."""
    image = step.get("etcd_image") or listed(run, step)
    if run.command("crictl", "inspecti", "--quiet", image, check=False).returncode:
        run.command("crictl", "pull", image)
    return image


def restoring(argv: list[str], folder: Path, node: str, peer: str, token: str) -> list[str]:
    """Return the words that restore folder/snapshot.db into folder/data. argv: of the program. peer: URL."""
    return [
        *(*argv, f"{folder}/snapshot.db", "--name", node, "--data-dir", f"{folder}/data"),
        *("--initial-cluster", f"{node}={peer}", "--initial-advertise-peer-urls", peer),
        *("--initial-cluster-token", token),
    ]


def contained(image: str, container: str, folder: Path, *options: str) -> list[str]:
    """Return the words that run a program in a container which has the folder at the same path."""
    mount = f"type=bind,src={folder},dst={folder},options=rbind:rw"
    return [*CTR, "run", *options, "--env", "ETCDCTL_API=3", "--mount", mount, image, container]


def remove(run: Run, container: str) -> None:
    """Remove a container, whatever is left of it."""
    for words in removing(container):
        run.command(*words, check=False)


def removing(container: str) -> list[tuple[str, ...]]:
    """Return the commands that remove a container which does not run."""
    return [(*CTR, kind, "delete", container) for kind in ("containers", "snapshots")]


def listed(run: Run, step: Step) -> str:
    """Return the image of etcd that kubeadm will start, by its tag."""
    said = run.command("kubeadm", "config", "images", "list", "--config", step["config"]).stdout
    image = IMAGE.search(said)
    if not image:
        raise Failure("command-failed", f"kubeadm names no image of etcd: {said.strip()[:300]}")
    return image[1]


def node_holds(run: Run, step: Step) -> bool:
    """Return whether the Node object is this machine's: a snapshot has the old machine's under the same name."""
    if not run.path(step["requires"]).exists():
        return True
    provider_id, labels = node(run, step)
    return provider_id == step["provider_id"] and step["label"] in labels


def make_node(run: Run, step: Step) -> None:
    """Delete the old Node object so the kubelet registers again: providerID of a Node cannot change.

    A kubelet may not give itself the labels of a control plane: kubeadm did that to the Node before.
    """
    if node(run, step)[0] not in ("", step["provider_id"]):
        run.command(*kubectl(step), "delete", "node", step["node"], "--ignore-not-found", "--wait=false")
        run.command("systemctl", "restart", "kubelet.service")
    while node(run, step)[0] != step["provider_id"]:
        if run.left() < POLL_SECONDS:
            raise Failure("wait-timeout", f"Node {step['node']} does not have providerID {step['provider_id']}")
        time.sleep(POLL_SECONDS)
    run.command(*step["argv"])


def node(run: Run, step: Step) -> tuple[str, dict[str, str]]:
    """Return providerID and labels of the Node object; both are empty if it does not exist."""
    said = run.command(*kubectl(step), "get", "node", step["node"], "--ignore-not-found", "--output=json").stdout
    found = json.loads(said) if said.strip() else {"metadata": {}, "spec": {}}
    return found["spec"].get("providerID", ""), found["metadata"].get("labels", {})


def kubectl(step: Step) -> tuple[str, ...]:
    """Return kubectl with the administrator's kubeconfig."""
    return ("kubectl", "--kubeconfig", step["kubeconfig"])
