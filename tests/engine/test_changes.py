"""Changes of a running cluster: which resources they touch, and in which order."""

import re
from collections.abc import Callable
from typing import Any

import pulumi.automation as auto
import pytest

from components.machine.bundle import scripts
from components.plan import planning
from components.wiring.kept_secrets import AUTHORITIES

from . import sampling
from .conftest import Run, Stack
from .things import THINGS

pytestmark = [
    pytest.mark.sampled,
    pytest.mark.engine,
    # after a refused run the SDK skips closing its event loop
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

STASH = "pulumi:index:Stash"
COMPONENTS = ("mullion:", "pulumi:pulumi:")


@pytest.fixture(scope="module", params=sampling.each("prod"))
def built(request: pytest.FixtureRequest, new_stack: Callable[[str], Stack]) -> Stack:
    """Three control planes, two Linux and three Windows workers."""
    return new_stack(sampling.stack(request.param, "changes"))


@pytest.fixture
def stack(built: Stack) -> Stack:
    """A built cluster as in its stack file, for one change by each test."""
    built.edit()
    if not built.is_built:
        built.up()
    return built


POINTER = {"bundle-control-plane", "desired-state", "serial"}
"""Resources that a change of the control plane's bundle touches: the bundle and the desired-state pointer."""
MEMBERS = {"members", "members-serial"}
"""Resources that a change of the members, or of their labels and taints, touches."""


def change(stack: Stack, **fields: Any) -> Run:
    """Preview and up with changed fields; both must report the same."""
    stack.edit(**fields)
    preview, up = stack.preview(), stack.up()
    assert preview.steps == up.steps, "the preview said what up would do"
    return up


def touched(stack: Stack, run: Run) -> set[str]:
    """Return names, without the stack's, of changed resources, but no components, which only repeat their arguments.

    Left out on Azure: folders of bundles, because each bundle changes its folder, and rights of single machines.
    """
    steps = (key.split("|") for key in run.steps)
    names = {name.removeprefix(f"{stack.name}-") for kind, name in steps if not kind.startswith(COMPONENTS)}
    folders = {name for name in names if name.startswith("bundle-") and name.endswith("-folder")}
    bundles = {name for name in names - folders if name.startswith("bundle-")}
    assert folders == ({f"{name}-folder" for name in bundles} if stack.cloud.name == "azure" else set())
    rights = {name for name in names if re.fullmatch(r".*-\d+-(objects|join-read)", name)}
    assert stack.cloud.name == "azure" or not rights
    return names - folders - rights


def most_missing(stack: Stack, since: int, machines: set[str]) -> int:
    """Return how many of these machines were missing at once, at most."""
    gone: set[str] = set()
    worst = 0
    for call in stack.cloud_state.operations()[since:]:
        name = call.urn.split("::")[-1].removeprefix(f"{stack.name}-")
        if call.type == stack.cloud.machine and name in machines and call.error is None:
            gone = gone | {name} if call.kind == "delete" else gone - {name}
            worst = max(worst, len(gone))
    return worst


def test_scaling_adds_and_removes_exactly_those_machines(stack: Stack) -> None:
    before = stack.machines()
    up = change(stack, pools={"web": {"count": 5}})
    assert touched(stack, up) == {"web-3", "web-4"} | MEMBERS
    assert {name: stack.machines()[name] for name in before} == before
    down = change(stack, pools={"web": {"count": 3}})
    assert touched(stack, down) == {"web-3", "web-4"} | MEMBERS
    assert stack.machines() == before


@pytest.mark.parametrize("unavailable", [1, 2])
def test_a_changed_reserve_rolls_exactly_that_pool_in_waves(stack: Stack, unavailable: int) -> None:
    """RES-01, OS-09: of three machines never more than max_unavailable are missing, and other pools are untouched."""
    before, since = stack.machines(), len(stack.cloud_state.operations())
    memory = f"{2 + unavailable}Gi"
    fields = {"kubelet": {"system_reserved": {"memory": memory}}, "rollout": {"max_unavailable": unavailable}}
    up = change(stack, pools={"web": fields})
    rolled = {"web-0", "web-1", "web-2"}
    instances = up.of(stack.cloud.machine)
    assert set(instances) == {f"{stack.name}-{name}" for name in rolled}
    assert all("replace" in operations for operations in instances.values())
    after = stack.machines()
    assert {name for name in before if before[name] != after[name]} == rolled
    assert most_missing(stack, since, rolled) <= unavailable


def test_a_canary_is_replaced_before_any_other_machine_of_its_pool(stack: Stack) -> None:
    before, since = stack.machines(), len(stack.cloud_state.operations())
    rollout = {"max_unavailable": 2, "canary": "1h"}
    change(stack, pools={"web": {"kubelet": {"system_reserved": {"memory": "5Gi"}}, "rollout": rollout}})
    assert {name for name, each in stack.machines().items() if before[name] != each} == {"web-0", "web-1", "web-2"}
    calls = [each for each in stack.cloud_state.operations()[since:] if each.type == stack.cloud.machine]
    names = [
        each.urn.rpartition("-web-")[2] for each in calls if "-web-" in each.urn and each.kind in ("delete", "create")
    ]
    assert names[:2] == ["0", "0"], "deleted and created"
    assert sorted(names[2:]) == ["1", "1", "2", "2"]


@pytest.mark.parametrize(
    ("fields", "also"),
    [
        ({"labels": {"team": "billing"}}, MEMBERS),
        # RuntimeClasses tolerate the pools' taints, and the control plane's bundle holds them
        ({"taints": ["os=windows:NoSchedule", "dedicated=billing:NoSchedule"]}, POINTER | MEMBERS),
    ],
    ids=["label", "taint"],
)
def test_labels_and_taints_replace_no_machine(stack: Stack, fields: dict[str, Any], also: set[str]) -> None:
    before, bundles = stack.machines(), stored_bundles(stack)
    up = change(stack, pools={"web": fields})
    assert touched(stack, up) == {"bundle-web"} | also
    assert stack.machines() == before
    assert stored_bundles(stack) > bundles, "a new bundle is added, the older ones stay"
    bundles = stored_bundles(stack)
    assert touched(stack, change(stack)) == {"bundle-web"} | also, "taken back: a bundle that was there before"
    assert stack.machines() == before
    assert stored_bundles(stack) >= bundles


def test_a_comment_in_a_script_replaces_no_machine(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    def commented(family: Any, **more: Any) -> dict[str, bytes]:
        return {name: content + b"\n# a comment\n" for name, content in scripts(family, **more).items()}

    before, bundles = stack.machines(), stored_bundles(stack)
    expected = POINTER | {"bundle-linux", "bundle-web"}
    with monkeypatch.context() as patch:
        patch.setattr(planning, "scripts", commented)
        assert touched(stack, change(stack)) == expected
    assert stack.machines() == before
    assert len(stored_bundles(stack) - bundles) == 3
    assert touched(stack, change(stack)) == expected, "taken back"
    assert stack.machines() == before


def test_image_size_and_user_data_touch_no_control_plane_machine(stack: Stack) -> None:
    before = stack.machines()
    up = change(
        stack,
        control_plane={"size": THINGS[stack.cloud.name].larger[0], "disk_gb": 80, "kubelet": {"verbosity": 4}},
        images={"ubuntu-24.04": image(stack)},
    )
    assert not any("control-plane-" in each for each in up.of(stack.cloud.machine))
    after = stack.machines()
    assert {name: after[name] for name in before if name.startswith("control-plane")} == {
        name: each for name, each in before.items() if name.startswith("control-plane")
    }


def image(stack: Stack) -> str:
    """Return an image that exists in this sandbox and is not the control plane's."""
    windows = [each for each in stack.cloud_state.resources(stack.cloud.machine) if "-web-" in each.name]
    return THINGS[stack.cloud.name].image(windows[0].inputs)


def test_rotating_one_secret_touches_that_one_alone(stack: Stack) -> None:
    """Each option of `rotation` has its own generation; machines stay."""
    before = stack.machines()
    expected = {
        "administrator": {"administrator"},
        "desired_state": {"desired-state", "members"},  # both documents are signed with it
        "service_account": {"service-account-1", "pki"},
        "encryption": {"encryption-1", "pki"},
    }
    if not stack.cloud.versions:  # images are looked up again, and the newest has not changed
        expected["images"] = {"ubuntu-24.04", "windows-2022"}
    rotation: dict[str, int] = {}
    for item, names in expected.items():
        rotation[item] = 1
        up = change(stack, rotation=dict(rotation))
        assert touched(stack, up) == names, item
        assert not set(up.of(STASH)) & {f"{stack.name}-{name}" for name in AUTHORITIES}
        assert stack.machines() == before


LAYOUT: dict[str, Any] = {
    "zones": 2,
    "nodes": "10.40.0.0/16",
    "pods": "10.240.0.0/12",
    "egress": "public",
    "nat_gateways": "single",
}
REFUSED = (
    "network.zones: 3   (not 2)",
    "network.nodes: 10.30.0.0/16   (not 10.40.0.0/16)",
    "network.pods: 10.128.0.0/16   (not 10.240.0.0/12)",
    "network.egress: nat   (not public)",
)


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        (lambda _: LAYOUT, REFUSED),
        (lambda stack: {"zone_names": list(reversed(zones(stack)))}, ("network.zone_names: [",)),
    ],
    ids=["ranges, zones and egress", "order of zones"],
)
def test_another_network_layout_is_refused_before_a_machine_is_touched(
    stack: Stack, layout: Callable[[Stack], dict[str, Any]], said: tuple[str, ...]
) -> None:
    before, calls = stack.machines(), len(stack.cloud_state.operations())
    stack.edit(network=layout(stack))
    for attempt in (stack.preview, stack.up):
        with pytest.raises(auto.CommandError) as refused:
            attempt()
        assert [line for line in said if line not in str(refused.value)] == []
    assert stack.machines() == before
    assert not [
        call
        for call in stack.cloud_state.operations()[calls:]
        if call.type.startswith(THINGS[stack.cloud.name].network)
    ]


def zones(stack: Stack) -> list[str]:
    """Return the zones of machines, in order."""
    return sorted({stack.cloud.zone_of(each.outputs) for each in stack.cloud_state.resources(stack.cloud.machine)})


def test_down_empties_the_bundle_store(stack: Stack) -> None:
    assert len(stored_bundles(stack)) > 3, "older bundles were kept until now"
    stack.down()
    assert stored_bundles(stack) == set()


def stored_bundles(stack: Stack) -> set[str]:
    """Return the keys of all bundle objects in the sandbox."""
    cloud_state = stack.cloud_state
    return {
        key for bucket in cloud_state.buckets() for key in cloud_state.objects(bucket) if key.startswith("bundles/")
    }


def recorded(stack: Stack) -> tuple[dict[str, Any], Any]:
    """Return the ids in the state by URN, and the number of control planes that the component has there."""
    rows = stack.state()["resources"]
    spec = next(row["inputs"] for row in rows if row["type"] == "mullion:index:MixedCluster")
    return {row["urn"]: row.get("id") for row in rows}, spec["control_plane"]["count"]


def test_a_smaller_control_plane_is_refused_in_preview_and_up(stack: Stack) -> None:
    """Plain `pulumi up` would delete two of three members of etcd, and end with an API without quorum."""
    before = recorded(stack)
    stack.edit(control_plane={"count": 1})
    for attempt in (stack.preview, stack.up):
        with pytest.raises(auto.CommandError) as refused:
            attempt()
        assert "control_plane.count: 1 is fewer than the 3 that the cluster has" in str(refused.value)
    assert recorded(stack) == before
