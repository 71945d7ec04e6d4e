"""`mullion first-contact`: write the one file that tests Mullion on a Windows Server without a cluster."""

from pathlib import Path
from typing import Any

from components import releases
from components.clouds import CLOUDS
from components.machine import first_contact as files
from components.node import first_contact as contact
from components.spec.models import ClusterSpec
from components.stack_files.stack import CLUSTER, read_stack
from operations.commands.versions import newest
from operations.console.exits import Exit, Stop

NAME, POOL = "contact", "windows"
"""Names of the cluster and the pool in the spec; its machines are never created."""

_NETWORKS: dict[str, dict[str, Any]] = {
    "overlay": {"mode": "overlay"},
    "l2bridge": {"mode": "l2bridge", "nodes": "10.20.0.0/22", "pods": "10.244.0.0/14"},
}
_REST: dict[str, dict[str, Any]] = {
    "azure": {"api": {"access": "private", "allow": ["203.0.113.0/24"]}},
    "gcp": {},
    "aws": {},
}
_PROVIDER = {"gcp": {"gcp:project": "first-contact"}}


def spec(cloud: str, os: str, runtime: str, network: str, kubernetes: str | None) -> ClusterSpec:
    """Return the checked spec of a cluster with one Windows pool. Raises SpecError or Stop if options do not fit."""
    for option, value, known in (("cloud", cloud, [*CLOUDS]), ("network", network, [*_NETWORKS])):
        if value not in known:
            raise Stop(Exit.USAGE, f"--{option} {value} is unknown; write {' | '.join(known)}")
    facts = CLOUDS[cloud]
    cluster = {
        "cloud": cloud,
        "kubernetes": kubernetes or newest(releases.supported_minors()[-1]),
        "owner": "first-contact",
        "network": _NETWORKS[network],
        "pools": {"linux": {"os": "ubuntu-24.04"}, POOL: {"os": os, "runtime": runtime}},
        **_REST[cloud],
    }
    config = {facts.region_key: facts.region_example, CLUSTER: cluster, **_PROVIDER.get(cloud, {})}
    return read_stack(NAME, config).spec


def write(chosen: ClusterSpec, output: Path, *, change: bool, fetch_from: str | None) -> None:
    """Write the file; with fetch_from, also the user-data that downloads it.

    Raises Stop if the pool does not run Windows or the URL cannot be used.
    """
    if not chosen.pools[POOL].os.is_windows:
        raise Stop(Exit.USAGE, f"--os {chosen.pools[POOL].os.value} is not a Windows Server; write --os windows-2022")
    document, cloud = contact.document(NAME, chosen, POOL), chosen.cloud.value
    text = files.one_file(document, change=change)
    written = {output: text}
    if fetch_from is not None:
        try:
            written[output.with_name(f"{output.name}.user-data")] = files.fetching(fetch_from, text, cloud)
        except ValueError as error:
            raise Stop(Exit.USAGE, f"--fetch-from {error}") from error
    output.parent.mkdir(parents=True, exist_ok=True)
    for path, content in written.items():
        path.write_text(content, "ascii")
        print(f"{path}  {len(content) / 1024:,.1f} KiB")
    steps = sum(len(phase["steps"]) for phase in document["phases"])
    print(f"{steps} steps, networks of both modes; {len(document['left_out'])} steps are left out: they need a cluster")
    limit, title = CLOUDS[cloud].user_data_limit, CLOUDS[cloud].title
    if len(text) > limit and fetch_from is None:
        print(f"As user-data of {title} (at most {limit / 1024:,.0f} KiB) it is too large: --fetch-from URL")
    print("docs/first-contact.md: how to run it on one machine, and how to check that nothing is left")
