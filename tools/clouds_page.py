"""Renders docs/clouds.md: what differs between the clouds, out of the tables that the program itself goes by."""

import re
from collections.abc import Callable, Iterable

from components import releases
from components.checks.machines import IMAGES, WITHOUT_CLOUD_INIT
from components.checks.network import ROUTE_LIMITS
from components.machine import user_data
from components.node.cni import CLOSED_TO_PODS, ON_LINK
from components.node.registries import PROVIDERS
from components.node.system import TIME_SERVERS
from components.node.windows_system import CLOUDS as REGISTRY
from components.spec.choices import Cloud, OperatingSystem
from components.spec.defaults import REGIONAL_NAT, SIZES
from components.stack_files.stack import REGIONS
from components.topology.addressing import EDGED
from components.topology.firewall import PROBES
from operations.clouds import cloud_tables
from sandbox.clouds import CLOUDS as PROVIDERS_OF

HEADER = """# What differs between the clouds

Written by `make generate` from the tables that the program goes by. The rest is the same on each: the same spec, plans,
bundles and commands; one page a cloud says what it needs: [AWS](aws.md), [Azure](azure.md), [GCP](gcp.md).
`tests/golden/plans/*.diff` has what differs in the files of each machine.

"""

NAMES = {"aws": "AWS", "azure": "Azure", "gcp": "GCP"}


def _code(values: Iterable[object]) -> str:
    return ", ".join(f"`{each}`" for each in values) or "none"


def _closed(cloud: str) -> str:
    return ", ".join(
        f"`{each.address}`" + (f" tcp {', '.join(map(str, each.tcp_ports))}" if each.tcp_ports else "")
        for each in CLOSED_TO_PODS[cloud]
    )


def _windows(cloud: str) -> str:
    images = {os.value: releases.image(cloud, os.value) for os in OperatingSystem if os.is_windows}
    return "<br>".join(f"{os}: `{image}`" for os, image in images.items())


def _systems(cloud: str) -> str:
    without = {os for where, os in WITHOUT_CLOUD_INIT if where == cloud}
    return ", ".join(os.value for os in OperatingSystem if os.value not in without)


def _removal(cloud: str) -> str:
    return f"`{re.sub(r'{[^}]*}', 'NAME', cloud_tables.CLOUDS[cloud].removal)}`"


ROWS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("key of the region", lambda cloud: f"`{REGIONS[cloud][0]}`"),
    ("Pulumi's provider", lambda cloud: PROVIDERS_OF[cloud].provider),
    ("operating systems whose images are looked up", _systems),
    ("newest image of Windows", _windows),
    ("form of a pinned image", lambda cloud: IMAGES[cloud][1]),
    ("default sizes: Linux, Windows", lambda cloud: _code(SIZES[cloud].values())),
    ("most bytes of user-data", lambda cloud: f"{user_data.LIMITS[cloud]:,}"),
    ("NAT", lambda cloud: "one of the region" if cloud in REGIONAL_NAT else "one, or one a zone"),
    (
        "subnets for gateways and balancers",
        lambda cloud: "yes" if Cloud(cloud) in EDGED else "no, they are the region's",
    ),
    ("most routes of a network by default (l2bridge)", lambda cloud: str(ROUTE_LIMITS[cloud])),
    (
        "health probes come from",
        lambda cloud: _code(PROBES.get(Cloud(cloud), ())).replace("none", "the balancer itself"),
    ),
    (
        "time server of machines",
        lambda cloud: _code(filter(None, [TIME_SERVERS.get(Cloud(cloud))])).replace("none", "the host's clock"),
    ),
    ("closed to pods", _closed),
    ("routes that Windows gets back after HNS", lambda cloud: _code(ON_LINK[cloud])),
    ("Windows settings of its own", lambda cloud: _code(row[1] for row in REGISTRY.get(Cloud(cloud), ()))),
    ("`registry_credentials`", lambda cloud: _code(PROVIDERS) if cloud == "aws" else "refused until built"),
    (
        "our tags begin with",
        lambda cloud: f"`{cloud_tables.CLOUDS[cloud].mark}` in `{cloud_tables.CLOUDS[cloud].tags}`",
    ),
    ("how a resource is found after a cut", lambda cloud: f"`{cloud_tables.CLOUDS[cloud].search.format('URN')}`"),
    ("what a machine calls itself", lambda cloud: f"`{cloud_tables.CLOUDS[cloud].instance}`"),
    ("removes a kept snapshot store", _removal),
)


def render() -> str:
    """The page."""
    head = ["", *NAMES.values()]
    lines = [head, ["---"] * len(head), *([what, *(cell(cloud) for cloud in NAMES)] for what, cell in ROWS)]
    return HEADER + "".join(f"| {' | '.join(line)} |\n" for line in lines)
