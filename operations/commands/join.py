"""`mullion join`: judge whether Windows workers can join an existing cluster, and write the stack file of a pool.

It changes nothing of the cluster.
"""

import base64
import json
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from components.lint.conditions import items
from components.lint.conditions import read as at
from components.naming import pool_of
from components.releases.order import is_version
from components.rollout.kubernetes_api import Access, KubernetesApi, Refused, Unreachable
from components.rollout.own_kubeconfig import Unusable, read
from operations.commands import new
from operations.console.exits import Exit, Stop
from operations.joining import judge, network_rules, reading
from operations.joining.reading import Existing
from operations.stacks import target

MOST_ADDRESSES = 8
"""Machines that are listed one by one; each range of a larger cluster must be given. Each range makes four rules of a
security group, of which AWS takes 60."""
HTTPS = 443
"""Port of a URL without one."""


def check(path: Path, *, kubernetes: str | None, as_json: bool) -> None:
    """Print the checks of the cluster of a kubeconfig. Raises Stop if Windows nodes cannot join yet."""
    wanted = _version(kubernetes)
    access = _access(path)
    if not as_json:
        print(f"mullion: reading the cluster at {access.url}", file=sys.stderr, flush=True)
    cluster = _read(access)
    rows, taken = judge.judge(cluster, wanted), judge.values(cluster, wanted)
    print((judge.as_json if as_json else judge.as_text)(rows, taken), flush=True)
    if bad := judge.failing(rows):
        raise Stop(Exit.FAILED, f"{len(bad)} of {len(rows)} checks say that Windows nodes cannot join yet")


@dataclass(frozen=True)
class Wanted:
    """Options of the stack file. subnets: ID=RANGE. nodes: ranges of the cluster's machines; default: each address."""

    stack: str
    network: str | None
    subnets: tuple[str, ...]
    nodes: tuple[str, ...]
    windows: str
    region: str | None
    kubernetes: str | None


def join(path: Path, wanted: Wanted) -> None:
    """Write the stack file of a Windows pool that joins the cluster of a kubeconfig. Raises Stop if it cannot join."""
    version, access = _version(wanted.kubernetes), _access(path)
    if not (wanted.network and wanted.subnets and wanted.region):
        place = "--region NAME --network vpc-ID --subnet subnet-ID=RANGE"
        raise Stop(Exit.USAGE, f"name the network of the Windows machines: {place}")
    cluster = _read(access)
    rows = judge.judge(cluster, version)
    if bad := judge.failing(rows):
        names = ", ".join(row.check for row in bad)
        raise Stop(Exit.FAILED, f"Windows nodes cannot join yet ({names}); run: mullion join --check {path}")
    nodes = list(wanted.nodes) or _addresses(cluster)
    if not wanted.nodes and len(nodes) > MOST_ADDRESSES:
        raise Stop(Exit.USAGE, f"the cluster has {len(nodes)} machines: name their subnets, --nodes RANGE for each")
    taken, address = judge.values(cluster, version), str(cluster.endpoint.get("server"))
    parts = urlsplit(address)
    pool: dict[str, Any] = {"os": f"windows-{wanted.windows.removeprefix('windows-')}", "count": 1}
    config = {
        "existing_cluster": {
            "endpoint": f"https://{parts.hostname}:{parts.port or HTTPS}",
            "ca": base64.b64decode(cluster.endpoint["certificate-authority-data"]).decode(),
            "nodes": nodes,
        },
        "network": {**taken["network"], "existing": {"network": wanted.network, "subnets": _subnets(wanted.subnets)}},
        "pools": {_free(cluster): pool},
    }
    if cluster.kubelet.get("serverTLSBootstrap"):
        pool["kubelet"] = {"config": {"serverTLSBootstrap": True}}
    if network_rules.is_small(most := network_rules.most_pods(cluster)):
        pool["max_pods"] = most
    text = _HEAD.format(
        name=wanted.stack,
        endpoint=config["existing_cluster"]["endpoint"],
        region=json.dumps(wanted.region),
        kubernetes=json.dumps(taken["kubernetes"]),
        options="".join(f"    {name}: {json.dumps(value)}\n" for name, value in config.items()),
    )
    new.write(wanted.stack, text)
    print(f"wrote stacks/Pulumi.{wanted.stack}.yaml: Windows nodes {taken['kubernetes']} of the cluster at {address}")
    print(f"Next:\n  mullion plan {wanted.stack}\n  KUBECONFIG={path} {target.command('up', wanted.stack)}")


_HEAD = """\
# yaml-language-server: $schema=schema.json
# {name}: Windows workers of the cluster at {endpoint}, which Mullion did not make (docs/existing-cluster.md).
# `mullion up` needs KUBECONFIG: it creates a bootstrap token in the cluster, and drains nodes.
config:
  aws:region: {region}
  mullion:cluster:
    cloud: aws
    # Version of the Windows nodes, at most that of the API servers.
    kubernetes: {kubernetes}
    # nodes: ranges of the cluster's own machines. Write their subnets, if machines come and go.
{options}"""


def _subnets(texts: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the subnets of ID=RANGE. Raises Stop for another form."""
    pairs = [text.partition("=") for text in texts]
    if wrong := [text for text, (id_, _, range_) in zip(texts, pairs, strict=True) if not id_ or not range_]:
        raise Stop(Exit.USAGE, f"--subnet {wrong[0]} is not ID=RANGE, such as subnet-0123456789abcdef0=10.0.8.0/24")
    return [{"id": id_, "range": range_} for id_, _, range_ in pairs]


def _free(cluster: Existing) -> str:
    """Return a pool name that no Node's name begins with: Nodes are called POOL-0, POOL-1 and so on."""
    pools = {pool_of(str(at(node, "metadata.name"))) for node in cluster.nodes}
    return next(name for number in count(1) if (name := f"windows{number if number > 1 else ''}") not in pools)


def _addresses(cluster: Existing) -> list[str]:
    """Return the address of each Node as a range of one address."""
    found = [each for node in cluster.nodes for each in items(at(node, "status.addresses"))]
    inside = {str(each.get("address")) for each in found if each.get("type") == "InternalIP"}
    return sorted(f"{each}/32" for each in inside if ":" not in each)


def _read(access: Access) -> Existing:
    try:
        return reading.read(KubernetesApi(access))
    except (Unreachable, Refused) as error:
        raise Stop(Exit.FAILED, f"the API at {access.url} failed: {error}") from error


def _version(text: str | None) -> str | None:
    """Return the version without its v. Raises Stop if it is none."""
    plain = (text or "").removeprefix("v")
    if text is not None and not is_version(plain):
        raise Stop(Exit.USAGE, f"--kubernetes {text} is not a version such as 1.37.1")
    return plain or None


def _access(path: Path) -> Access:
    """Return address and keys of the current context. Raises Stop if they are not in the file itself."""
    try:
        return read(path)
    except Unusable as error:
        raise Stop(Exit.USAGE, str(error)) from error
