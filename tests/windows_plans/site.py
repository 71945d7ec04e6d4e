"""The network of these Windows nodes: with the cloud, the publishers and an API server."""

import hmac
import json
import os
import string
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components import naming
from components.machine.pki import ca_hash
from lab.linuxnode import network
from sandbox.boot.network_namespaces import within
from tests.cloud_init.cloud import FakeCloud, serving
from tests.conformance.downloads import Downloads
from tests.conformance.downloads import serving as publishing
from tests.conformance.state import Served
from tests.windows_plans.api import Api, Authority
from tests.windows_plans.combinations import Rendered

NODES, ROUTER = "10.20.0.0/16", "10.20.0.1"
METADATA = "169.254.169.254"
CLUSTER = "dev"
API_HOST = naming.api_host(CLUSTER)
TOKEN = "abcdef.0123456789abcdef"


@dataclass
class NodeNetwork:
    """The services that all machines reach: cloud, downloads, API server."""

    net: str
    cloud: FakeCloud
    downloads: Downloads
    api: Api

    @property
    def mirror(self) -> str:
        """Return the base URL of the mirror."""
        return self.downloads.urls["url"]

    def facts(self) -> dict[str, str]:
        """Return the facts that the cluster's wiring gives to Windows workers."""
        url = self.cloud.url
        return {
            "cloud": "aws", "region": "eu-west-1", "world": "sandbox", "cluster": CLUSTER,
            "api_host": API_HOST, "api_url": f"https://{API_HOST}:6443", "ca_hash": ca_hash(self.api.authority.pem),
            "ca_url": f"{url}/bundles/ca.crt", "bundle_store": f"{url}/bundles", "secret_service": f"{url}/",
            "join_secret": "join", "status_url": f"{url}/status/AROAEXAMPLE%3A",
        }  # fmt: skip

    def publish(self, rendered: Rendered) -> None:
        """Serve a plan's downloads from the mirror, and reset the cluster to its version, without nodes."""
        self.downloads.files = rendered.files
        self.downloads.served = {name: Served() for name in rendered.files}
        self.downloads.forget()
        self.api.reset(rendered.spec.kubernetes)

    def space(self, node: str, address: str) -> str:
        """Create the network namespace of a machine."""
        network.add(self.net, node, address)
        return f"{self.net}-{node}"

    def leave(self, space: str) -> None:
        """Remove the namespace of a machine that is off."""
        network.run("netns", "del", space)

    def ip(self, space: str, *words: object) -> None:
        """Run ip in a machine's namespace."""
        network.run("-n", space, *words)


def join_tokens(objects: MutableMapping[str, bytes]) -> set[str]:
    """Return the tokens of machines that announced themselves, as the control plane's agent derives them."""
    records = [json.loads(content) for name, content in objects.items() if name.startswith("/bundles/join/")]
    return {join_token(TOKEN, record["number"]) for record in records}


def join_token(secret: str, number: str) -> str:
    """Return a machine's token (cloud-init/linux/joining.py)."""
    digest = hmac.digest(secret.encode(), number.encode(), "sha256")
    text = "".join((string.digits + string.ascii_lowercase)[byte % 36] for byte in digest[:22])
    return f"{text[:6]}.{text[6:]}"


@contextmanager
def node_network(folder: Path) -> Iterator[NodeNetwork]:
    """Create the network, and remove it at the end."""
    net = f"win{os.getpid()}"
    network.up(net, NODES)
    try:
        network.run("-n", net, "addr", "add", f"{METADATA}/32", "dev", "br0")
        objects: list[MutableMapping[str, bytes]] = []
        api = Api(Authority(), API_HOST, lambda: join_tokens(objects[0]))
        servers: list[Any] = [within(net, lambda: api.start(ROUTER, 6443))]

        def here(start: Any) -> Any:
            return within(net, start)

        with serving(folder, ROUTER, here) as cloud, publishing(ROUTER, here) as downloads:
            cloud.secrets["join"] = TOKEN
            objects.append(cloud.objects)
            cloud.objects["/bundles/ca.crt"] = api.authority.pem.encode()
            yield NodeNetwork(net, cloud, downloads, api)
        for server in servers:
            server.shutdown()
            server.server_close()
    finally:
        network.down(net)
