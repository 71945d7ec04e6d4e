"""What gcloud prints as JSON about routes and private zones of a sandbox, which no function of the provider shows."""

from typing import Any

from sandbox.cloud import Refusal
from sandbox.cloud_state import CloudState
from sandbox.gcp.dns import ZONE
from sandbox.gcp.names import COMPUTE, NETWORK, bare
from sandbox.gcp.networks import GATEWAY
from sandbox.gcp.private_ways import gateway_routes

_ROUTES, _ZONE = ("gcloud", "compute", "routes", "list"), ("gcloud", "dns", "managed-zones", "describe")


def answer(cloud_state: CloudState, command: tuple[str, ...], project: str) -> Any:
    """Return what a command prints about a project; None if it fails. Raises Refusal for other commands.

    Of routes it lists those to the default internet gateway.
    """
    if command[: len(_ROUTES)] == _ROUTES:
        return _routes(cloud_state, project)
    if command[: len(_ZONE)] == _ZONE:
        return _zone(cloud_state, f"projects/{project}/managedZones/{command[-1]}")
    raise Refusal("InvalidArgument", f"the sandbox does not know {' '.join(command)}")


def _routes(cloud_state: CloudState, project: str) -> list[dict[str, Any]]:
    hop = f"{COMPUTE}projects/{project}/global/gateways/{GATEWAY}"
    networks = [each.id for each in cloud_state.resources(NETWORK) if each.id.startswith(f"projects/{project}/")]
    return [
        {"destRange": str(to), "network": COMPUTE + network, "nextHopGateway": hop}
        for network in networks
        for to in gateway_routes(cloud_state, network)
    ]


def _zone(cloud_state: CloudState, id: str) -> dict[str, Any] | None:
    found = cloud_state.find(ZONE, id)
    if found is None:
        return None
    networks = (found.inputs.get("privateVisibilityConfig") or {}).get("networks") or []
    return {"privateVisibilityConfig": {"networks": [{"networkUrl": _url(each["networkUrl"])} for each in networks]}}


def _url(network: str) -> str:
    return COMPUTE + bare(network)
