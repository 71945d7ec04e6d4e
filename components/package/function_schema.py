"""Functions of the package as the schema lists them: `plan`, `cost`, `versions`, and the types of their results."""

from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
YES_OR_NO: dict[str, Any] = {"type": "boolean"}

PLAN, COST, VERSIONS = (f"mullion:index:{name}" for name in ("plan", "cost", "versions"))
"""Tokens of the functions. Renaming one breaks programs."""


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/types/mullion:index:{name}"}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _said(kind: dict[str, Any], description: str) -> dict[str, Any]:
    return {**kind, "description": description}


def _type(description: str, *optional: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """Return an object type; every property but the optional ones is required."""
    required = sorted(set(properties) - set(optional))
    return {"description": description, "type": "object", "properties": properties, "required": required}


TYPES: dict[str, Any] = {
    "mullion:index:PlannedMachine": _type(
        "A machine of a plan.",
        name=_said(TEXT, "Name of the machine and of its Node."),
        pool=_said(TEXT, "Its pool, or control-plane."),
        address=_said(TEXT, "Its fixed private IPv4 address."),
        zone=_said(WHOLE, "Index of its availability zone, from 0."),
    ),
    "mullion:index:PlannedPool": _type(
        "The control plane, or a pool, of a plan.",
        name=_said(TEXT, "Name of the pool, or control-plane."),
        os=_said(TEXT, "Operating system."),
        size=_said(TEXT, "Instance type."),
        count=_said(WHOLE, "Number of machines."),
        bundle=_said(TEXT, "SHA-256 of the bundle with the machines' plan and scripts, hex."),
        replaceDigest=_said(TEXT, "SHA-256, hex. A change replaces the pool's machines; not those of control planes."),
    ),
    "mullion:index:Warning": _type(
        "A warning about the inputs of a cluster.",
        id=_said(TEXT, "Id of the check (docs/checks.md)."),
        path=_said(TEXT, "Option that it is about, as in a stack file."),
        wrong=_said(TEXT, "What is wrong."),
        fix=_said(TEXT, "What to write instead."),
    ),
    "mullion:index:CostItem": _type(
        "An item of a bill.",
        "month",
        pool=_said(TEXT, "Its pool, control-plane, or (shared)."),
        what=_said(TEXT, "What the cloud charges for."),
        count=_said(NUMBER, "Number of units."),
        unit=_said(TEXT, "Unit of the price: hour, month, GiB a month, GB."),
        month=_said(NUMBER, "USD a month of 730 hours; missing if the price is unknown."),
    ),
    "mullion:index:KubernetesMinor": _type(
        "A supported Kubernetes minor version.",
        minor=_said(TEXT, "Minor version, such as 1.36."),
        endOfLife=_said(TEXT, "Day on which its support ends, YYYY-MM-DD."),
        patches=_said(_list(TEXT), "Patches with known digests, oldest first."),
        containerd=_said(TEXT, "Default version of containerd."),
        windows=_said(_list(TEXT), "Windows releases that its kubelet supports."),
    ),
}

_CLUSTER = {
    "name": _said(TEXT, "Name of the cluster."),
    "cluster": _said(_ref("ClusterArgs"), "Inputs of MixedCluster."),
}

FUNCTIONS: dict[str, Any] = {
    PLAN: {
        "description": "Check the inputs of a cluster and return its plan. Calls no cloud. Wrong inputs fail the call.",
        "inputs": _type(
            "Arguments of plan.",
            "region",
            **_CLUSTER,
            region=_said(TEXT, "Region. Default: none; then no check that needs the region runs."),
        ),
        "outputs": _type(
            "A plan.",
            endpoint=_said(TEXT, "URL of the Kubernetes API for nodes."),
            machines=_said(_list(_ref("PlannedMachine")), "All machines, control plane first."),
            pools=_said(_list(_ref("PlannedPool")), "The control plane, then the pools by name."),
            warnings=_said(_list(_ref("Warning")), "Warnings that are not acknowledged."),
        ),
    },
    COST: {
        "description": "Return what a cluster costs, by the price tables of the package (docs/cost.md).",
        "inputs": _type(
            "Arguments of cost.",
            "trafficGb",
            "storedGib",
            **_CLUSTER,
            region=_said(TEXT, "Region that the prices are for."),
            trafficGb=_said(NUMBER, "Traffic to the internet. Default: not counted. Unit: GB a month."),
            storedGib=_said(NUMBER, "Files in the stores. Default: not counted. Unit: GiB."),
        ),
        "outputs": _type(
            "A bill.",
            currency=_said(TEXT, "Always USD."),
            month=_said(NUMBER, "Sum of the known prices for a month of 730 hours."),
            complete=_said(YES_OR_NO, "Whether every price is known; if not, the sum is a lower bound."),
            unknown=_said(_list(TEXT), "Items without a known price."),
            items=_said(_list(_ref("CostItem")), "The items."),
        ),
    },
    VERSIONS: {
        "description": "Return the supported versions of Kubernetes and what works with them.",
        "inputs": _type(
            "Arguments of versions.",
            "minor",
            minor=_said(TEXT, "Only this minor version, such as 1.36. Default: all."),
        ),
        "outputs": _type(
            "Supported versions.",
            figuresOf=_said(TEXT, "Day of the tables, YYYY-MM-DD."),
            minors=_said(_list(_ref("KubernetesMinor")), "Minor versions, oldest first."),
        ),
    },
}
"""Functions by token."""
