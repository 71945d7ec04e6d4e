"""What `mullion plan --against FILE` takes for an earlier plan or state, and what not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from operations.commands import plan_against
from operations.commands.plan_against import Earlier
from operations.console.exits import Exit, Stop

Run = Callable[..., Result]

FACTS = {"os": "ubuntu-24.04", "size": "m6i.large", "disk_gb": 50, "image": None, "replace_digest": "0"}
CONTROL_PLANE = {"name": "control-plane", "bundle": {"sha256": "0"}, **FACTS}
EARLIER = {"format": 1, "cluster": "small", "pools": [CONTROL_PLANE], "machines": []}
MACHINE = {"type": "aws:ec2/instance:Instance", "urn": "a::b::c::small-web-0"}
TAGS = {"mullion:cluster": "small", "mullion:pool": "web"}
NEITHER: dict[str, Any] = {
    "a list": [],
    "a plan without pools": EARLIER | {"pools": []},
    "a plan of another format": EARLIER | {"format": 2},
    "a plan without machines": {key: value for key, value in EARLIER.items() if key != "machines"},
    "a pool without a size": EARLIER | {"pools": [CONTROL_PLANE, {"name": "web", "replace_digest": "0"}]},
    "a machine of no pool": EARLIER | {"machines": [{"name": "web-0", "pool": "web", "address": "10.0.0.1"}]},
    "a machine whose name is a number": EARLIER
    | {"machines": [{"name": 5, "pool": "control-plane", "address": "10.0.0.1"}]},
    "a cluster without a name": EARLIER | {"cluster": None},
    "no deployment": {"version": 3, "deployment": None},
    "a deployment that is a list": {"deployment": []},
    "a resource that is a number": {"deployment": {"resources": [1]}},
    "resources that are a text": {"deployment": {"resources": "none"}},
    "a resource without a URN": {"deployment": {"resources": [{"type": MACHINE["type"], "inputs": {"tags": TAGS}}]}},
    "an instance without its pool": {
        "deployment": {"resources": [MACHINE | {"inputs": {"tags": {"mullion:cluster": "small"}}}]}
    },
    "inputs of null": {"deployment": {"resources": [MACHINE | {"inputs": None}]}},
    "tags that are a number": {"deployment": {"resources": [MACHINE | {"inputs": {"tags": 1}}]}},
}


@pytest.mark.parametrize("found", NEITHER)
def test_a_file_that_is_nearly_a_plan_or_a_state_is_refused(
    found: str, clone: Path, mullion: Run, tmp_path: Path
) -> None:
    (tmp_path / "file.json").write_text(json.dumps(NEITHER[found]))
    result = mullion("plan", "small", "--against", str(tmp_path / "file.json"))
    assert result.exit_code == 2, result.output
    assert "neither from" in result.stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("not json", "--against"),
        ("{}", "neither from"),
        (
            json.dumps(EARLIER | {"cluster": "other"}),
            "other",
        ),
    ],
)
def test_a_file_that_is_no_earlier_state_of_the_cluster_is_refused(
    content: str, says: str, clone: Path, mullion: Run, tmp_path: Path
) -> None:
    (tmp_path / "file.json").write_text(content)
    result = mullion("plan", "small", "--against", str(tmp_path / "file.json"))
    assert result.exit_code == 2
    assert says in result.stderr


def _pool(machine: str) -> str:
    return machine.rpartition("_")[0].replace("_", "-")


def planned(kubernetes: str, **machines: str) -> dict[str, Any]:
    """A plan with machines at these addresses; a machine's pool is its name without the number."""
    rows = [
        {"name": name.replace("_", "-"), "pool": _pool(name), "address": address} for name, address in machines.items()
    ]
    pools = [{"name": each} for each in {row["pool"] for row in rows}]
    return {"cluster": "small", "kubernetes": kubernetes, "machines": rows, "pools": pools}


NUMBER = "rotation.certificate_authorities"
SPEC = {"cloud": "aws", "kubernetes": "1.35.8"}


def rotated(number: int) -> dict[str, Any]:
    """A plan with this number of rotation.certificate_authorities."""
    plan = planned("1.35.8", web_0="10.0.0.1")
    return {**plan, "spec": {"rotation": {"certificate_authorities": number}}}


def state(
    kubernetes: str = "1.35.8", *, pointer: str = "", spec: dict[str, Any] | None = None, **machines: str
) -> Earlier:
    """A state with machines at these addresses. spec: options of the spec that was built."""
    resources: list[dict[str, Any]] = [
        {
            "type": MACHINE["type"],
            "urn": f"a::b::c::small-{name.replace('_', '-')}",
            "inputs": {"privateIp": address, "tags": {**TAGS, "mullion:pool": _pool(name)}},
        }
        for name, address in machines.items()
    ]
    if machines:
        resources.append({"type": "mullion:aws:Workers", "outputs": {"kubernetes": kubernetes}})
    if pointer:
        content = json.dumps({"kubernetes": pointer})
        inputs = {"key": "desired-state.json", "content": content}
        resources.append({"type": "aws:s3/bucketObjectv2:BucketObjectv2", "inputs": inputs})
    if spec:
        built = {"cloud": "aws", "kubernetes": kubernetes, **spec}
        resources.append({"type": "mullion:index:MixedCluster", "inputs": built})
    return plan_against.from_state(resources, "state")


def numbered(number: int) -> Earlier:
    """A state whose spec has this number of rotation.certificate_authorities."""
    return state(spec={"rotation": {"certificate_authorities": number}}, web_0="10.0.0.1")


def built_with(controller: str) -> Earlier:
    """A state whose spec has this cloud_controller."""
    return state(spec={"cloud_controller": controller}, web_0="10.0.0.1")


def controlled(controller: str) -> dict[str, Any]:
    """A plan with this cloud_controller."""
    return {**planned("1.35.8", web_0="10.0.0.1"), "spec": {**SPEC, "cloud_controller": controller}}


def built_for(*drivers: str) -> Earlier:
    """A state whose spec has these storage drivers."""
    return state(spec={"csi": [*drivers]}, web_0="10.0.0.1")


def with_drivers(*drivers: str) -> dict[str, Any]:
    """A plan with these storage drivers."""
    return {**planned("1.35.8", web_0="10.0.0.1"), "spec": {**SPEC, "csi": [*drivers]}}


TAKEN = "has until it is deleted. Write a slot with free addresses"
KEPT = "its controller nothing keeps or removes the load balancers of Services, and `down` would not look for them"
KEPT_DRIVER = "nothing attaches or deletes the volumes that it made, and their pods stop at the next restart"
FIRST = "or first remove pool web and run `up`"
CHANGES: dict[str, tuple[dict[str, Any], Earlier, str]] = {
    "nothing": (planned("1.35.8", web_0="10.0.0.1"), state(web_0="10.0.0.1"), ""),
    "a first build": (planned("1.35.8", web_0="10.0.0.1"), state(), ""),
    "a larger pool": (planned("1.35.8", web_0="10.0.0.1", web_1="10.0.0.2"), state(web_0="10.0.0.1"), ""),
    "a slot far away": (planned("1.35.8", web_0="10.0.0.9"), state(web_0="10.0.0.1"), ""),
    "the next minor": (planned("1.36.4", web_0="10.0.0.1"), state(web_0="10.0.0.1"), ""),
    "back to what pools have": (planned("1.35.8", web_0="10.0.0.1"), state(web_0="10.0.0.1", pointer="1.36.4"), ""),
    "a pool renamed with its slot": (
        planned("1.35.8", app_0="10.0.0.1", app_1="10.0.0.2"),
        state(web_0="10.0.0.1", web_1="10.0.0.2"),
        f"pools.app.slot: app-0 would have the address 10.0.0.1, which web-0 {TAKEN}, {FIRST}",
    ),
    "a slot moved by less than the pool": (
        planned("1.35.8", web_0="10.0.0.2", web_1="10.0.0.3"),
        state(web_0="10.0.0.1", web_1="10.0.0.2"),
        f"pools.web.slot: web-0 would have the address 10.0.0.2, which web-1 {TAKEN}",
    ),
    "two minors": (
        planned("1.37.0", web_0="10.0.0.1"),
        state(web_0="10.0.0.1"),
        "kubernetes: from 1.35.8 to 1.37.0 is more than one minor version; write 1.36.4 first, then go on",
    ),
    "an older version": (
        planned("1.35.7", web_0="10.0.0.1"),
        state(web_0="10.0.0.1"),
        "kubernetes: 1.35.7 is older than 1.35.8, which the control plane has; write 1.35.8 or a newer one",
    ),
    "a cluster gets a cloud controller": (
        controlled("external"),
        built_with("none"),
        "",
    ),
    "a cluster keeps its cloud controller": (
        controlled("external"),
        built_with("external"),
        "",
    ),
    "a cluster loses its cloud controller": (
        controlled("none"),
        built_with("external"),
        f"cloud_controller: without {KEPT}. Write external, or remove the cluster and build it again",
    ),
    "a cluster gets a storage driver": (with_drivers("ebs", "smb"), built_for("smb"), ""),
    "a cluster loses a storage driver": (
        with_drivers("smb"),
        built_for("ebs", "smb"),
        f"csi: without ebs {KEPT_DRIVER}. Keep it, or remove the cluster and build it again",
    ),
    "a control plane grows": (
        planned("1.35.8", control_plane_0="10.0.0.1", control_plane_1="10.0.0.2", control_plane_2="10.0.0.3"),
        state(control_plane_0="10.0.0.1"),
        "",
    ),
    "a control plane shrinks": (
        planned("1.35.8", control_plane_0="10.0.0.1"),
        state(control_plane_0="10.0.0.1", control_plane_1="10.0.0.2", control_plane_2="10.0.0.3"),
        (
            "control_plane.count: 1 is fewer than the 3 that the cluster has: without the others etcd has no quorum,"
            " and the API stops. Write 3, or remove the cluster and build it again"
        ),
    ),
    "a growth that made no machine is taken back": (
        planned("1.35.8", control_plane_0="10.0.0.1"),
        state(spec={"control_plane": {"count": 3}}, control_plane_0="10.0.0.1"),
        "",
    ),
    "the next step of a rotation": (rotated(2), numbered(1), ""),
    "back from the second number": (rotated(1), numbered(2), ""),
    "two steps of a rotation": (
        rotated(2),
        numbered(0),
        f"{NUMBER}: from 0 to 2 is more than one step; write 1, and wait for all machines (docs/pki.md)",
    ),
    "back over the end of a rotation": (
        rotated(2),
        numbered(3),
        f"{NUMBER}: 3 has no way back: write 3, or go on to 4 (docs/pki.md)",
    ),
    "two minors without pools": (
        planned("1.37.0"),
        state(pointer="1.35.8"),
        "kubernetes: from 1.35.8 to 1.37.0 is more than one minor version; write 1.36.4 first, then go on",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_cannot_be_made_in_one_go_is_refused_with_path_reason_and_fix(change: str) -> None:
    after, before, said = CHANGES[change]
    if not said:
        plan_against.refuse(after, before)
        return
    with pytest.raises(Stop) as caught:
        plan_against.refuse(after, before)
    assert caught.value.code == Exit.USAGE
    assert str(caught.value).splitlines() == [
        "`up` cannot make these changes to stack small; nothing was changed",
        said,
    ]
