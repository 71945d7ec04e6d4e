"""Properties of the wiring of every cloud, recorded by a monitor without an engine."""

import json
import re
from typing import Any

import pytest

from components.node.merge import merge
from components.stack_files.stack import CLUSTER
from operations.clouds import cloud_tables as commands
from operations.recorder.recorder import Recording, record
from sandbox import clouds
from sandbox.values import Secret
from tests.components.recorded_wiring import ROOT, config, of, plan, recording
from tests.existing_networks import EXISTING

STACKS = (
    *(f"{cloud}-{kind}" for cloud in ("aws", "azure", "gcp") for kind in ("dev", "ci", "prod")),
    "aws-docker",
    "aws-routed",
)


@pytest.mark.parametrize("stack", STACKS)
def test_urns_equal_the_golden_file(stack: str) -> None:
    """A changed URN replaces resources of existing clusters: add an alias, then run `make generate`."""
    urns = sorted(each.urn for each in recording(stack).resources.values())
    assert len(set(urns)) == len(recording(stack).resources)
    assert urns == (ROOT / "tests" / "golden" / "urns" / f"{stack}.txt").read_text().splitlines()


@pytest.mark.parametrize("stack", STACKS)
def test_every_resource_has_a_parent_below_the_cluster(stack: str) -> None:
    by_urn = {resource.urn: resource for resource in recording(stack).resources.values()}
    for resource in by_urn.values():
        if resource.type == "mullion:index:MixedCluster":
            continue
        above = resource
        while above.parent in by_urn:
            above = by_urn[above.parent]
        assert above.type == "mullion:index:MixedCluster", f"{resource.urn} is a child of {above.urn}"


@pytest.mark.parametrize("stack", STACKS)
def test_every_component_registers_its_outputs_and_has_children(stack: str) -> None:
    resources = recording(stack).resources.values()
    parents = {resource.parent for resource in resources}
    for resource in resources:
        if not resource.custom:
            assert resource.outputs, f"{resource.urn} registers no outputs"
            assert resource.urn in parents, f"{resource.urn} has no children"


PINNED = {
    "aws": "ami-0123456789abcdef0",
    "azure": "MicrosoftWindowsServer:WindowsServer:2022-datacenter-core-smalldisk-g2:20348.4405.251112",
    "gcp": "projects/windows-cloud/global/images/windows-server-2022-dc-core-v20251112",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "as its file says": {},
    "existing": {},
    "public": {
        "network": {"egress": "public", "zones": 3},
        "api": {"access": "public", "allow": ["203.0.113.0/24"]},
        "control_plane": {"count": 3},
        "expires": "8h",
    },
    "routed": {
        "network": {"mode": "l2bridge", "pods": "10.244.0.0/14", "nodes": "10.20.0.0/22"},
        "protect": True,
        "owner": "platform-team",
        "tags": {"environment": "production"},
    },
}
"""Options that add resources or properties; some of the repository's stacks set them too."""


def _registered(stack: str, options: str) -> Recording:
    """Return the recording of the stack with these options."""
    if options == "as its file says":
        return recording(stack)
    cloud = stack.partition("-")[0]
    network = {"network": {"nodes": "10.30.0.0/16", "existing": EXISTING[cloud]}, "control_plane": {"count": 3}}
    changes = {**(OPTIONS[options] or network), "images": {"windows-2022": PINNED[cloud]}}
    recorded = record(stack, {**config(stack), CLUSTER: merge(config(stack)[CLUSTER], changes)})
    assert recorded.errors == []
    return recorded


@pytest.mark.parametrize(
    ("stack", "options"),
    [
        *((stack, "as its file says") for stack in STACKS),
        *((f"{cloud}-dev", options) for cloud in clouds.CLOUDS for options in OPTIONS if options != "as its file says"),
    ],
)
def test_every_property_has_the_type_declared_by_the_sdk(stack: str, options: str) -> None:
    cloud = clouds.of(stack.partition("-")[0])
    resources = _registered(stack, options).resources.values()
    ours = [resource for resource in resources if resource.type.startswith(f"{cloud.name}:")]
    assert len(ours) > 40, stack
    for resource in ours:
        failures = cloud.shapes.check(resource.type, {key: _plain(value) for key, value in resource.inputs.items()})
        assert failures == [], resource.urn


REQUIRED = {
    "aws": ("aws:ec2/subnet:Subnet", "vpcId"),
    "azure": ("azure-native:network:Subnet", "virtualNetworkName"),
    "gcp": ("gcp:compute/subnetwork:Subnetwork", "network"),
}
"""A type of each cloud, and an input that its SDK requires."""


@pytest.mark.parametrize("name", REQUIRED)
def test_the_types_of_the_sdk_find_misspelt_and_missing_properties(name: str) -> None:
    """At the top level and in a nested object."""
    check = clouds.of(name).shapes.check
    resources = recording(f"{name}-dev").resources.values()
    machine = next(each for each in resources if each.type == commands.CLOUDS[name].machine)
    inputs = {key: _plain(value) for key, value in machine.inputs.items()}
    inner = next(key for key, value in inputs.items() if isinstance(value, dict) and "ags" not in key)
    assert check(machine.type, inputs) == []
    for wrong in ({"nmae": "x"}, {inner: {**inputs[inner], "wrongly": "x"}}, {inner: 7}):
        assert check(machine.type, {**inputs, **wrong}) != [], wrong
    kind, required = REQUIRED[name]
    subnet = next(each for each in resources if each.type == kind)
    assert check(kind, {key: value for key, value in subnet.inputs.items() if key != required}) != []


FACADE = "cluster.py"


def test_only_cluster_py_imports_the_clouds_and_no_cloud_names_another() -> None:
    """Differences in data (sizes, images, limits) are tables with a row for each cloud; code is in a cloud's folder."""
    for path in sorted((ROOT / "components").rglob("*.py")):
        text, place = path.read_text(), path.relative_to(ROOT / "components")
        imported = set(re.findall(r"from components\.(aws|azure|gcp)\b", text))
        if place.parts[0] in clouds.CLOUDS:
            named = {each for each in NAMED if re.search(NAMED[each], text, re.IGNORECASE)}
            assert imported | named <= {place.parts[0]}, place
        else:
            assert imported == (set(clouds.CLOUDS) if str(place) == FACADE else set()), place


NAMED = {"aws": r"\baws\b|amazon", "azure": r"\bazure\b|microsoft", "gcp": r"\bgcp\b|google"}


HEADINGS = ["Needs", "Set-up", "Cluster", "What `plan` shows", "Verify", "Limits", "Destroy"]


@pytest.mark.parametrize("name", clouds.CLOUDS)
def test_the_page_of_a_cloud_quotes_the_output_of_plan(name: str) -> None:
    page, stack = (ROOT / "docs" / f"{name}.md").read_text(), f"{name}-dev"
    recorded, planned = recording(stack), plan(stack)
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == HEADINGS
    numbers = re.search(r"(\d+) machines, (\d+) (?:security group|firewall) rules,\s(\d+) resources", page)
    assert numbers, "the page has no numbers from `plan --resources`"
    assert tuple(map(int, numbers.groups())) == (len(planned.machines), len(planned.rules), len(recorded.resources))
    policies = re.findall(r"^ *```json\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    assert all(json.loads(each) for each in policies), "each policy is a JSON object, so it can be pasted"
    assert policies or re.search(r"^ *```(?:sh|yaml)\n", page.partition("## Set-up")[0], re.MULTILINE)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Secret) else value


@pytest.mark.parametrize("stack", STACKS)
def test_preview_registers_the_same_resources(stack: str) -> None:
    assert set(recording(stack).resources) == set(recording(stack, preview=True).resources)


VALUES = {
    "aws": ("aws:s3/bucketObjectv2:BucketObjectv2", "aws:secretsmanager/secretVersion:SecretVersion"),
    "azure": ("azure-native:storage:Blob", "azure-native:keyvault:Secret"),
    "gcp": ("gcp:storage/bucketObject:BucketObject", "gcp:secretmanager/secretVersion:SecretVersion"),
}
"""Types of the object that is the desired-state pointer and of a secret's value."""


@pytest.mark.parametrize("cloud", VALUES)
def test_the_pointer_changes_after_the_secrets(cloud: str) -> None:
    """A control plane that follows the pointer reads the secrets: a number of a rotation would be missing there."""
    stack, (object_, value) = f"{cloud}-dev", VALUES[cloud]
    found = recording(stack)
    values = {each.urn for each in of(found, value).values()}
    assert {urn.rpartition("::")[2] for urn in values} == {f"{stack}-pki", f"{stack}-desired-state"}
    assert values <= of(found, object_)[f"{stack}-desired-state"].dependencies
