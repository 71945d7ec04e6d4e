"""`mullion new`: write the commented stack file of a new cluster."""

import json
import re
from pathlib import Path
from textwrap import dedent

import yaml

from components import releases
from components.clouds import CLOUDS as FACTS
from components.stack_files.stack import CLUSTER, Stack, read_stack
from operations.commands.stack_change import with_value
from operations.commands.versions import newest
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files, target

WINDOWS = ("2019", "2022", "2025")
CLOUDS = {"aws": "AWS", "azure": "Azure", "gcp": "Google Cloud"}

_HEAD = """\
# yaml-language-server: $schema=schema.json
# Cluster {name} on {cloud_name}: one control-plane machine, one Linux worker, one Windows Server {windows} worker.
# All options: mullion explain. What a change of this file does: mullion preview {name}
config:
{provider}
  mullion:cluster:
    cloud: {cloud}
    # Quote the version. Supported versions: mullion versions. Upgrade: mullion upgrade {name} VERSION
    kubernetes: {kubernetes}
    # Tag of every resource: who is responsible for the cluster.
    owner: platform-team
    # true: `mullion down` asks for the cluster's name before it removes anything.
    protect: false
    # Pods use a VXLAN overlay. Ranges cannot change while the cluster exists; avoid those of your other networks.
    network: {{mode: overlay, nodes: 10.20.0.0/16, pods: 10.244.0.0/16, services: 10.96.0.0/12}}
{api}
    # count: 1, or 3 for a highly available control plane. size: machine type of the cloud.
    control_plane: {{count: 1}}
    pools:
      # CoreDNS and other Linux pods run here.
      linux: {{os: ubuntu-24.04, count: 1}}
      # Pods need `nodeSelector: {{kubernetes.io/os: windows}}` and a toleration of the taint os=windows:NoSchedule.
      windows: {{os: windows-{windows}, count: 1}}
"""

_PROVIDER = {
    "aws": "  aws:region: {region}",
    "azure": "  azure-native:location: {region}",
    "gcp": "  # Your project's id.\n  gcp:project: example-project\n  gcp:region: {region}",
}

_PRIVATE = "# The API is reachable from inside the network only. From outside: {access: public, allow: [YOUR RANGE]}."
_API = {
    "aws": f"    {_PRIVATE}\n    api: {{access: private}}",
    "azure": f"    {_PRIVATE}\n    # allow: the range of your computer: mullion writes to the cluster's stores.\n"
    "    api: {access: private, allow: [203.0.113.0/24]}",
    "gcp": f"    {_PRIVATE}\n    api: {{access: private}}",
}

_PLACEHOLDERS = {"azure": "api.allow", "gcp": "gcp:project"}
"""Values that only the user knows; the sandbox accepts the example values."""


def new(
    name: str, *, cloud: str | None, windows: str | None, kubernetes: str | None, region: str | None, source: str | None
) -> None:
    """Write stacks/Pulumi.NAME.yaml, and print the next commands.

    source: a stack to copy; cloud and Windows release are then those of the copy.
    Raises Stop if the file exists or options do not fit together, SpecError if the name or a value is wrong.
    """
    path = _unused(name)
    text = _copied(source, name, cloud, windows) if source else _written(name, cloud, windows, kubernetes, region)
    for key, value in (("kubernetes", kubernetes), ("region", region)) if source else ():
        text = _with(text, key, value, path) if value else text
    stack = write(name, text)
    print(f"wrote stacks/{path.name}: Kubernetes {stack.spec.kubernetes} on {CLOUDS[stack.spec.cloud.value]}")
    print(f"Next:\n  mullion plan {name}\n  mullion up {name} --sandbox\n  mullion up {name}")
    if stack.spec.cloud.value in _PLACEHOLDERS and not source:
        print(f"Before the last one, replace the example of {_PLACEHOLDERS[stack.spec.cloud.value]} in the file.")


def write(name: str, text: str) -> Stack:
    """Write a stack's new file, print its warnings, and return the stack.

    Raises Stop if the file exists or the stack is built, SpecError if the name or a value is wrong.
    """
    path = _unused(name)
    stack = read_stack(name, yaml.safe_load(text)["config"])
    if (place := target.recall(name)) is not None:
        raise Stop(Exit.REFUSED, f"stack {name} is still built in {place}; run: {target.command('down', name)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
    for warning in stack.warnings:
        if warning.acknowledged is None:
            print(f"warning: {warning}")
    return stack


def _unused(name: str) -> Path:
    """Return the path of a stack's new file. Raises Stop if it exists, SpecError if no cluster can have the name."""
    path = stack_files.folder() / f"Pulumi.{name}.yaml"
    if name in stack_files.names():
        raise Stop(Exit.USAGE, f"stacks/{path.name} exists; choose another name, or edit it")
    _check(name)
    return path


def _check(name: str) -> None:
    """Raise SpecError if no cluster can have this name."""
    facts = FACTS["aws"]
    read_stack(name, {facts.region_key: facts.region_example, CLUSTER: {"cloud": "aws", "kubernetes": _newest()}})


def _newest() -> str:
    return newest(releases.supported_minors()[-1])


def _written(name: str, cloud: str | None, windows: str | None, kubernetes: str | None, region: str | None) -> str:
    cloud = cloud.lower() if cloud else None
    if cloud not in CLOUDS:
        wrong = f"--cloud {cloud} is unknown" if cloud else "the cloud is missing"
        raise Stop(Exit.USAGE, f"{wrong}; write --cloud {' | '.join(CLOUDS)}, or --from STACK")
    release = (windows or "2022").removeprefix("windows-")
    if release not in WINDOWS:
        raise Stop(Exit.USAGE, f"--windows {windows} is unknown; write {' | '.join(WINDOWS)}")
    return dedent(_HEAD).format(
        name=name,
        cloud=cloud,
        cloud_name=CLOUDS[cloud],
        windows=release,
        kubernetes=json.dumps(kubernetes or _newest()),
        provider=_PROVIDER[cloud].format(region=_plain(region or FACTS[cloud].region_example)),
        api=_API[cloud],
    )


def _plain(value: str) -> str:
    """Return a value for YAML: quoted unless it is a plain word."""
    return value if re.fullmatch(r"[a-z0-9-]+", value) else json.dumps(value)


def _copied(source: str, name: str, cloud: str | None, windows: str | None) -> str:
    """Return the text of another stack's file without what belongs to that stack alone."""
    if cloud or windows:
        raise Stop(Exit.USAGE, "--from copies the cloud and the pools; leave out --cloud and --windows")
    return stack_files.copied(
        source, f"copy it by hand without them, then: pulumi config set --secret -s {name} KEY VALUE"
    )


def _with(text: str, key: str, value: str, path: Path) -> str:
    """Return the text with another version of Kubernetes or another region."""
    if key == "kubernetes":
        return with_value(text, ("kubernetes",), json.dumps(value), path)
    config = yaml.safe_load(text)["config"]
    region = FACTS[config[CLUSTER]["cloud"]].region_key
    line = re.compile(rf"^(\s*{re.escape(region)}:\s*).*$", re.MULTILINE)
    return line.sub(lambda match: match[1] + _plain(value), text, count=1)
