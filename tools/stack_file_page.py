"""Renders docs/stack-file.md: every option of a stack file with an example and the effect of a change."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast, get_origin

import yaml
from pydantic import BaseModel

from components.clouds import CLOUDS
from components.spec import change_effects
from components.spec.defaults import DISK_GB, PRIORITY_CLASS, RANGES, SIZES, TAINTS
from components.spec.examples import EXAMPLES
from components.spec.models import ClusterSpec
from components.stack_files.schema import FILLED, stack_schema

HEADER = """# The stack file

Written by `make generate` from the models in `components/spec/`.

A stack is a file `stacks/Pulumi.NAME.yaml`. Under `config:` it has the region and one object, `mullion:cluster`, with
the options below. Only `cloud`, `kubernetes` and the `os` of each pool are required. `mullion plan NAME` checks the
file and lists all mistakes at once ([checks](checks.md)). The first line `# yaml-language-server: $schema=schema.json`
lets editors complete it.

```yaml
config:
  aws:region: eu-west-1
  mullion:cluster:
    cloud: aws
    kubernetes: "1.36.4"
    pools:
      linux: {os: ubuntu-24.04}
      web: {os: windows-2022, count: 2}
```

`mullion explain PATH` shows one option. The last column says what a change does to a built cluster:

| effect | meaning |
|---|---|
| replaced | the workers of the pool, or of all pools, are replaced wave by wave ([rolling](rolling.md)); control planes are changed in place ([desired state](desired-state.md)) |
| in place | applied by the next `up`; no machine is replaced |
| next machine | existing machines stay as they are; machines created later get it |
| refused | `mullion up` refuses it; remove the cluster and build it again |
| not available | only the default is accepted; other values are refused ([what you bring](what-you-bring.md)) |

"""  # noqa: E501

SECTIONS = {
    "": "The cluster",
    "network": "network",
    "network.existing": "network.existing",
    "existing_cluster": "existing_cluster",
    "api": "api",
    "ingress.load_balancers.NAME": "ingress.load_balancers.NAME",
    "ingress.load_balancers.NAME.ports[]": "ingress.load_balancers.NAME.ports[]",
    "ingress.node_ports": "ingress.node_ports",
    "pod_identity.service_accounts[]": "pod_identity.service_accounts[]",
    "control_plane": "control_plane",
    "control_plane.kubelet": "control_plane.kubelet",
    "control_plane.kube_proxy": "control_plane.kube_proxy",
    "control_plane.containerd": "control_plane.containerd",
    "pools.NAME": "pools.NAME",
    "pools.NAME.kubelet": "pools.NAME.kubelet",
    "pools.NAME.kube_proxy": "pools.NAME.kube_proxy",
    "pools.NAME.containerd": "pools.NAME.containerd",
    "pools.NAME.rollout": "pools.NAME.rollout",
    "kubeadm": "kubeadm",
    "addons": "addons",
    "rotation": "rotation",
    "proxy": "proxy",
    "artifacts": "artifacts",
    "artifacts.entries[]": "artifacts.entries[]",
}
"""Path of a section -> its heading. Options of reserves are rows of their kubelet's section."""

DERIVED = {
    "network.pods": "by mode: " + ", ".join(f"{mode} {ranges['pods']}" for mode, ranges in RANGES.items()),
    "network.nodes": "by mode: "
    + ", ".join(f"{mode} {ranges['nodes']}" for mode, ranges in RANGES.items())
    + "; with `existing` the smallest range with all its subnets",
    "network.dns": "tenth address of `services`",
    "network.zones": "one per existing subnet; else 1 with one control-plane machine, else 3",
    "network.zone_names": "the region's first",
    "network.nat_gateways": "zonal with three control-plane machines behind NAT (not on GCP), else single",
    "network.route_limit": "by cloud: AWS 500, Azure 400, GCP 250",
    "control_plane.size": "by cloud: " + ", ".join(size["linux"] for size in SIZES.values()),
    "pools.NAME.size": "by cloud: "
    + ", ".join(f"{size['linux']} (Windows {size['windows']})" for size in SIZES.values()),
    "pools.NAME.disk_gb": f"{DISK_GB['linux']}, Windows {DISK_GB['windows']}",
    "pools.NAME.taints": f"none, Windows `{TAINTS['windows'][0]}`",
    "pools.NAME.slot": "from the pool's name",
    "pools.NAME.kubelet.system_reserved.memory": "none, Windows 2Gi",
    "pools.NAME.kubelet.system_reserved.cpu": "none, Windows the larger of 500m and a tenth of the cores",
    "pools.NAME.kubelet.kube_reserved.cpu": "none, Linux by size",
    "pools.NAME.kubelet.kube_reserved.memory": "none, Linux by size and max_pods",
    "pools.NAME.kubelet.priority_class": f"none, Windows {PRIORITY_CLASS}",
    "pools.NAME.kube_proxy.dsr": "`false`, Windows `true`",
    "control_plane.containerd.version": "the newest tested with the Kubernetes minor",
    "pools.NAME.containerd.version": "the newest tested with the Kubernetes minor",
    "ingress.load_balancers.NAME.health.port": "each node port",
    "images": "looked up at the first `up`, then kept",
    "encryption_key": "the cloud's own",
    "encryption_identity": "none",
}
"""Option -> its default in words, for defaults that depend on other options, on the cloud or on a table."""

KINDS = {"string": "text", "integer": "number", "boolean": "true or false", "object": "map", "array": "list"}


@dataclass(frozen=True)
class Option:
    """An option: its path, its model, and its property in the schema of stack files."""

    path: str
    model: str
    schema: dict[str, Any]
    required: bool

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    @property
    def example(self) -> Any:
        """Value of the example. Raises KeyError if components/spec/examples.py has none."""
        return EXAMPLES[f"{self.model}.{self.name}"]


def options() -> list[Option]:
    """Return every option that holds a value (no nested model), in the order of the models."""
    return list(_walk(ClusterSpec, "", stack_schema()["definitions"]))


def _walk(model: type[BaseModel], prefix: str, definitions: dict[str, Any]) -> Iterator[Option]:
    for name, field in model.model_fields.items():
        path = prefix + name
        schema = definitions[model.__name__]["properties"][name]
        inner = [leaf for leaf in _leaves(field.annotation) if isinstance(leaf, type) and issubclass(leaf, BaseModel)]
        if inner:
            steps = {dict: ".NAME.", list: "[]."}
            yield from _walk(inner[0], path + steps.get(get_origin(field.annotation) or object, "."), definitions)
        else:
            required = field.is_required() and name not in FILLED.get(model.__name__, ())
            yield Option(path, model.__name__, _resolved(schema, definitions), required)


def _leaves(annotation: Any) -> list[Any]:
    arguments = getattr(annotation, "__args__", ())
    return [leaf for argument in arguments for leaf in _leaves(argument)] if arguments else [annotation]


def _resolved(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a property with its references resolved and merged; null is left out."""
    parts = [part for part in (*schema.get("allOf", []), *schema.get("anyOf", [])) if part.get("type") != "null"]
    if "$ref" in schema:
        parts.append({"$ref": schema["$ref"]})
    merged: dict[str, Any] = {}
    for part in parts:
        target = definitions[part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else part
        merged |= _resolved(target, definitions)
    return {**merged, **schema}


def render() -> str:
    """Return the page, in Markdown."""
    rows: dict[str, list[str]] = {path: [] for path in SECTIONS}
    for option in options():
        rows[_section(option.path)].append(_row(option))
    parts = [HEADER + _regions()]
    for path, title in SECTIONS.items():
        parts.append(f"## {title}\n")
        parts += ["| option | meaning | type | default | example | effect of a change |", "|---|---|---|---|---|---|"]
        parts += [*rows[path], ""]
    return "\n".join(parts).rstrip() + "\n"


def _regions() -> str:
    keys = ", ".join(f"`{facts.region_key}: {facts.region_example}`" for facts in CLOUDS.values())
    return f"The region is a key of its own: {keys}; on GCP also `gcp:project`. A changed region is refused.\n"


def _section(path: str) -> str:
    return max((section for section in SECTIONS if not section or path.startswith(f"{section}.")), key=len)


def _row(option: Option) -> str:
    section = _section(option.path)
    name = option.path.removeprefix(f"{section}.") if section else option.path
    meaning = " ".join(str(option.schema.get("description", "")).split())
    cells = (f"`{name}`", meaning, _kind(option.schema), _default(option), f"`{option.example}`")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (*cells, effect(option))) + " |"


def _kind(schema: dict[str, Any]) -> str:
    if values := schema.get("enum"):
        return " or ".join(f"`{value}`" for value in values)
    if schema.get("const") is not None:
        return f"`{schema['const']}`"
    if str(schema.get("format", "")).startswith("ipv4"):
        return "range (CIDR)" if schema["format"] == "ipv4network" else "IPv4 address"
    if isinstance(types := schema.get("type"), list):
        return ", or ".join(_kind({**schema, "type": each}) for each in cast(list[str], types))
    kind = KINDS.get(str(schema.get("type")), "text")
    if kind == "list":
        return f"list of {_kind(schema.get('items', {}))}"
    if schema.get("type") != "string" and ("minimum" in schema or "maximum" in schema):
        least, most = schema.get("minimum"), schema.get("maximum")
        return f"{kind}, {least} to {most}" if most is not None else f"{kind}, at least {least}"
    return kind


def _default(option: Option) -> str:
    if option.required:
        return "**required**"
    if option.path in DERIVED:
        return DERIVED[option.path]
    default = option.schema.get("default")
    return "none" if default in (None, [], {}) else f"`{_shown(default)}`"


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return yaml.safe_dump(value, default_flow_style=True, width=1000, sort_keys=False).strip()
    return f'"{value}"' if _looks_like_number(value) else value if isinstance(value, str) else json.dumps(value)


def _looks_like_number(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(yaml.safe_load(value), str)


def effect(option: Option) -> str:
    """Return the effect of changing an option on a built cluster. Raises ValueError if change_effects has no row."""
    path = option.path.replace("[]", "").replace("NAME", "*")
    changing = change_effects.effect(path)
    if changing is None:
        raise ValueError(f"components/spec/change_effects.py has no effect of {path}")
    return f"{changing.value}. {change_effects.note(path)}".removesuffix(". ")
