"""The API's host name in /etc/hosts of a control plane: its own address first once it runs an API server, then peers.

Resolvers return the addresses of the hosts file in its order, and clients try the next one if a connection is refused.
So the file works while the machine's API server starts, runs or is down, and control planes need no load balancer
(many load balancers do not forward a machine's traffic to itself).
"""

import json
import time
from urllib.parse import urlsplit

import containers
from api import ask
from failure import Failure
from run import Run, Step
from writing import write_whole

HOSTS = "/etc/hosts"
MARK = "# mullion"
PORT = 6443
POLL_SECONDS = 2


def mapped(run: Run, host: str) -> list[str]:
    """Return the addresses of the name in the hosts file, in file order."""
    words = [line.partition("#")[0].split() for line in run.path(HOSTS).read_text().splitlines()]
    return [each[0] for each in words if host in each[1:]]


def ready(run: Run, step: Step, address: str) -> bool:
    """Return whether this cluster's API server at the address answers /readyz with 200."""
    try:
        return ask(address, PORT, "/readyz", run.path(step["ca"]))[0] == 200
    except (OSError, ValueError):
        return False


def own(run: Run, step: Step) -> list[str]:
    """Return this machine's address followed by its peers' once it has joined, or an empty list before.

    The founder's list has no peers: clients would time out on addresses where no machine runs yet.
    """
    peers = [each for each in step["peers"] if each != step["address"]]
    if run.path(step["joined"]).exists():
        return [step["address"], *peers]
    return [step["address"]] if run.path(step["founder"]).exists() else []


def endpoint_holds(run: Run, step: Step) -> bool:
    """Return whether the hosts file has the addresses of `own`, or else all peers with a ready one first."""
    found, wanted = mapped(run, step["host"]), own(run, step)
    if wanted:
        return found == wanted
    peers = {peer for peer in step["peers"] if peer != step["address"]}
    return bool(found) and set(found) == peers and ready(run, step, found[0])


def make_endpoint(run: Run, step: Step) -> None:
    """Write the addresses; before this machine has an API server, first wait for a ready peer.

    kube-proxy restarts: on the host network a container keeps a copy of the hosts file from its start (kubelet,
    ensureHostsFile), so the founder's would know no other API server than its own until the next upgrade.
    """
    addresses = own(run, step)
    while not addresses:
        addresses = sorted(
            (peer for peer in step["peers"] if peer != step["address"]),
            key=lambda peer: not ready(run, step, peer),
        )
        if addresses and ready(run, step, addresses[0]):
            break
        if run.left() < POLL_SECONDS:
            about = f"no other control plane ({', '.join(addresses) or 'there is none'}) has an API that is ready"
            raise Failure(
                "wait-timeout", f"{about}; if all control planes are lost, restore the cluster from a snapshot"
            )
        addresses = []
        time.sleep(POLL_SECONDS)
    write(run, step["host"], addresses)
    containers.restart(run.root, "kube-proxy")


def write(run: Run, host: str, addresses: list[str]) -> None:
    """Replace the name's lines with these addresses and keep all other lines."""
    lines = run.path(HOSTS).read_text().splitlines()
    kept = [line for line in lines if host not in line.partition("#")[0].split()[1:]]
    made = [f"{each} {host} {MARK}" for each in addresses]
    write_whole(run.path(HOSTS), "".join(f"{line}\n" for line in [*kept, *made]).encode(), 0o644)


def version_holds(run: Run, step: Step) -> bool:
    """Return whether the API server answers with at least this version."""
    answered = api_version(run, step)
    return answered is not None and answered >= numbers(step["version"])


def api_version(run: Run, step: Step) -> list[int] | None:
    """Return the numbers of the API server's version, which anyone may read; None without a usable answer."""
    place = urlsplit(step["url"])
    try:
        status, body = ask(place.hostname or "", place.port or PORT, "/version", run.path(step["ca"]))
        return numbers(json.loads(body)["gitVersion"]) if status == 200 else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def numbers(version: str) -> list[int]:
    """Return the numbers of a version for comparison, without a suffix after - or + (v1.32.13-eks-1)."""
    return [int(each) for each in version.lstrip("v").partition("-")[0].partition("+")[0].split(".")]


def make_version(run: Run, step: Step) -> None:
    """Poll until the API server has the version. Raise Failure wait-timeout after the step's timeout."""
    while not version_holds(run, step):
        if run.left() < POLL_SECONDS:
            raise Failure("wait-timeout", f"{step['url']} has no API of {step['version']} or newer")
        time.sleep(POLL_SECONDS)
