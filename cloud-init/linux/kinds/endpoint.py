"""The API's name on a control plane: itself once it has an API, its peers before and after that.

Resolvers give the addresses of the hosts file in its order, and programs go on to the next where one refuses. So one
file serves a machine whose own API starts, runs, or is down; and no control plane needs a load balancer, which may not
send it back to itself.
"""

import json
import time
from urllib.parse import urlsplit

from api import ask
from failure import Failure
from run import Run, Step
from writing import write_whole

HOSTS = "/etc/hosts"
MARK = "# mullion"
PORT = 6443
POLL_SECONDS = 2


def mapped(run: Run, host: str) -> list[str]:
    """Addresses of the name in the hosts file, in their order."""
    words = [line.partition("#")[0].split() for line in run.path(HOSTS).read_text().splitlines()]
    return [each[0] for each in words if host in each[1:]]


def ready(run: Run, step: Step, address: str) -> bool:
    """An API server of this cluster is there, and ready."""
    try:
        return ask(address, PORT, "/readyz", run.path(step["ca"]))[0] == 200
    except (OSError, ValueError):
        return False


def own(run: Run, step: Step) -> list[str]:
    """This machine's address, before those of its peers once it has an API; nothing while it has none and makes none.

    The founder has no peers yet: programs would wait for their addresses, at which nobody is, whenever its own refuses.
    """
    peers = [each for each in step["peers"] if each != step["address"]]
    if run.path(step["joined"]).exists():
        return [step["address"], *peers]
    return [step["address"]] if run.path(step["founder"]).exists() else []


def endpoint_holds(run: Run, step: Step) -> bool:
    """As `own` says; where it says nothing all peers, of whom the first is ready."""
    found, wanted = mapped(run, step["host"]), own(run, step)
    if wanted:
        return found == wanted
    peers = {each for each in step["peers"] if each != step["address"]}
    return bool(found) and set(found) == peers and ready(run, step, found[0])


def make_endpoint(run: Run, step: Step) -> None:
    """Waits for a peer that is ready, where this machine needs one; then writes the file."""
    addresses = own(run, step)
    while not addresses:
        addresses = sorted(
            (each for each in step["peers"] if each != step["address"]),
            key=lambda each: not ready(run, step, each),
        )
        if addresses and ready(run, step, addresses[0]):
            break
        if run.left() < POLL_SECONDS:
            about = f"no other control plane ({', '.join(addresses) or 'there is none'}) has an API that is ready"
            raise Failure("wait-timeout", f"{about}; a cluster that lost all of them is restored from a snapshot")
        addresses = []
        time.sleep(POLL_SECONDS)
    write(run, step["host"], addresses)


def write(run: Run, host: str, addresses: list[str]) -> None:
    """The name has these addresses; all other lines stay."""
    lines = run.path(HOSTS).read_text().splitlines()
    kept = [line for line in lines if host not in line.partition("#")[0].split()[1:]]
    made = [f"{each} {host} {MARK}" for each in addresses]
    write_whole(run.path(HOSTS), "".join(f"{line}\n" for line in [*kept, *made]).encode(), 0o644)


def version_holds(run: Run, step: Step) -> bool:
    """The API server is at least of this version; it tells anyone (RBAC's system:public-info-viewer)."""
    place = urlsplit(step["url"])
    try:
        status, body = ask(place.hostname or "", place.port or PORT, "/version", run.path(step["ca"]))
        return status == 200 and numbers(json.loads(body)["gitVersion"]) >= numbers(step["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def numbers(version: str) -> list[int]:
    """v1.32.13, as it can be compared; what comes after a - or + (v1.32.13-eks-1) does not count."""
    return [int(each) for each in version.lstrip("v").partition("-")[0].partition("+")[0].split(".")]


def make_version(run: Run, step: Step) -> None:
    """Asks again and again until the step's time is over."""
    while not version_holds(run, step):
        if run.left() < POLL_SECONDS:
            raise Failure("wait-timeout", f"{step['url']} has no API of {step['version']} or newer")
        time.sleep(POLL_SECONDS)
