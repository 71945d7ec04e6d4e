"""Renders docs/clouds.md: the differences between the clouds, from the tables that the program uses."""

import re
from collections.abc import Callable, Iterable

from components import releases
from components.clouds import CLOUDS
from components.spec.choices import OperatingSystem
from operations.clouds import cloud_tables
from sandbox.clouds import CLOUDS as PROVIDERS_OF

HEADER = """# What differs between the clouds

Written by `make generate` from the tables that the program uses. Spec, plans, bundles and commands are the same on all
clouds. Each cloud has a page with permissions, resources and limits: [AWS](aws.md), [Azure](azure.md), [GCP](gcp.md).
`tests/golden/plans/*.diff` shows the differences between the files of their machines.

"""


def _code(values: Iterable[object]) -> str:
    return ", ".join(f"`{each}`" for each in values) or "none"


def _closed(cloud: str) -> str:
    return ", ".join(
        f"`{endpoint.address}`" + (f" tcp {', '.join(map(str, endpoint.tcp_ports))}" if endpoint.tcp_ports else "")
        for endpoint in CLOUDS[cloud].closed_to_pods
    )


def _windows(cloud: str) -> str:
    images = {os.value: releases.image(cloud, os.value) for os in OperatingSystem if os.is_windows}
    return "<br>".join(f"{os}: `{image}`" for os, image in images.items())


def _systems(cloud: str) -> str:
    without = CLOUDS[cloud].without_cloud_init
    return ", ".join(os.value for os in OperatingSystem if os.value not in without)


def _removal(cloud: str) -> str:
    command = re.sub(r"{[^}]*}", "NAME", cloud_tables.CLOUDS[cloud].removal)
    return "`{}`".format(command.replace("|", r"\|"))  # else it ends the cell of the table


ROWS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("configuration key of the region", lambda cloud: f"`{CLOUDS[cloud].region_key}`"),
    ("Pulumi's provider", lambda cloud: PROVIDERS_OF[cloud].provider),
    ("operating systems whose images are looked up", _systems),
    ("newest image of Windows", _windows),
    ("form of a pinned image", lambda cloud: CLOUDS[cloud].image_words),
    ("default sizes: Linux, Windows", lambda cloud: _code((CLOUDS[cloud].linux_size, CLOUDS[cloud].windows_size))),
    ("limit of user-data, bytes", lambda cloud: f"{CLOUDS[cloud].user_data_limit:,}"),
    ("NAT", lambda cloud: "one for the region" if CLOUDS[cloud].regional_nat else "one, or one per zone"),
    (
        "subnets for gateways and balancers",
        lambda cloud: "yes" if CLOUDS[cloud].edge_subnets else "no, both belong to the region",
    ),
    ("default limit of routes (l2bridge)", lambda cloud: str(CLOUDS[cloud].route_limit)),
    (
        "sources of health probes",
        lambda cloud: _code(CLOUDS[cloud].probe_ranges).replace("none", "the load balancer"),
    ),
    ("largest packet between machines, in bytes (overlay)", lambda cloud: str(CLOUDS[cloud].mtu)),
    (
        "time server of machines",
        lambda cloud: _code(filter(None, [CLOUDS[cloud].time_server])).replace("none", "the host's clock"),
    ),
    ("addresses that pods cannot reach", _closed),
    ("routes restored on Windows after HNS removes them", lambda cloud: _code(CLOUDS[cloud].metadata_routes)),
    (
        "registry values on Windows for this cloud",
        lambda cloud: _code(row[1] for row in CLOUDS[cloud].windows_registry),
    ),
    (
        "`registry_credentials`",
        lambda cloud: _code(sorted(CLOUDS[cloud].registries)),
    ),
    (
        "prefix of Mullion's tags",
        lambda cloud: f"`{cloud_tables.CLOUDS[cloud].mark}` in `{cloud_tables.CLOUDS[cloud].tags}`",
    ),
    (
        "command that finds a resource after an interrupted run",
        lambda cloud: f"`{cloud_tables.CLOUDS[cloud].search.format(tag='URN')}`",
    ),
    ("output with the id that a machine knows itself", lambda cloud: f"`{cloud_tables.CLOUDS[cloud].instance}`"),
    ("command that removes a kept snapshot store", _removal),
)


def render() -> str:
    """Return the page, in Markdown."""
    head = ["", *(facts.title for facts in CLOUDS.values())]
    lines = [head, ["---"] * len(head), *([what, *(cell(cloud) for cloud in CLOUDS)] for what, cell in ROWS)]
    return HEADER + "".join(f"| {' | '.join(line)} |\n" for line in lines)
