"""Stacks whose pools join a cluster that somebody else made: the user's kubeconfig, and commands that do not fit."""

import os
from dataclasses import replace
from pathlib import Path

from components.machine import pki
from components.rollout.kubernetes_api import Access
from components.rollout.own_kubeconfig import VARIABLE, Unusable, read, written
from components.spec.models import ClusterSpec
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files

YOURS = f"yours ({VARIABLE})"
UNTOUCHED = "the sandbox calls no API of an existing cluster, so no machine joins it"


def kubeconfig(name: str, path: str | Path | None = None) -> str:
    """Return a kubeconfig of the current context of the user's, whose servers must have the stack's authority.

    path: of the user's; default: KUBECONFIG. Raises Stop, before any call, if it cannot be used or is of another
    cluster. Whatever address it has, its clients refuse a server without a certificate of the stack's authority.
    """
    cluster = stack_files.load(name).spec.existing_cluster
    if cluster is None:
        raise ValueError(f"{name} joins no cluster")
    path = path or os.environ.get(VARIABLE, "")
    access = _read(name, path)
    if not is_of(access, pki.ca_hash(cluster.ca)):
        raise Stop(
            Exit.REFUSED,
            f"{name} joins the cluster at {cluster.endpoint}, and {path} is of another one, at {access.url}: it does"
            f" not trust the authority in existing_cluster.ca. Nothing was called. Set {VARIABLE} to a kubeconfig of"
            " that cluster",
        )
    return written(replace(access, ca_certificate=cluster.ca))


def is_of(access: Access, ca_hash: str) -> bool:
    """Return whether a kubeconfig trusts the authority with this hash of its key."""
    try:
        return ca_hash in pki.ca_hashes(access.ca_certificate)
    except ValueError:
        return False


def _read(name: str, path: str | Path) -> Access:
    try:
        return read(path)
    except Unusable as error:
        message = f"{name} joins a cluster of somebody else: {error}. Set {VARIABLE} to its administrator's kubeconfig"
        raise Stop(Exit.USAGE, message) from error


REFUSED = {
    "kubeconfig": "its administrator's kubeconfig is its owner's, and Mullion has no authority that signs another",
    "upgrade": "upgrade its control plane with kubeadm, then write the version of the Windows nodes into the stack file"
    " and run `mullion up`",
    "revoke": "Mullion's agent, which revokes machines, is not in it. Delete the Node and the machine; its certificate"
    " is valid until it ends",
    "replace-control-plane": "its control plane is its owner's",
    "snapshot": "its etcd is its owner's",
    "restore": "its etcd is its owner's",
    "run": "temporary clusters are Mullion's own; name a template without existing_cluster",
    "chaos": "copies of it cannot be made",
    "image bake": "images for such pools are not built yet; bake one with a stack of Mullion's own, and name it in"
    " `images`",
    "sandbox boot": "the sandbox has no such cluster to boot",
}
"""Commands that do not fit such a stack, and why."""


def refuse(name: str, command: str) -> None:
    """Raise Stop if the pools of a stack join a cluster of somebody else. command: one of REFUSED."""
    refuse_spec(name, stack_files.load(name).spec, command)


def refuse_spec(name: str, spec: ClusterSpec, command: str) -> None:
    """Do the same with a spec that has been read."""
    if spec.existing_cluster:
        raise Stop(Exit.REFUSED, f"{name} joins a cluster of somebody else: {REFUSED[command]}")
