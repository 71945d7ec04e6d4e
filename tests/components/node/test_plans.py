"""Properties of all node plans."""

import re
from typing import Any

import pytest

from components import releases
from components.node import plan_node
from components.node.kinds import KINDS, REFERENCES, OnChange
from components.node.plan import NodePlan, canonical, references
from tools.golden.samples import PATCHES, SYSTEMS, one, plan, spec, text, values

CHANGES_NOTHING: dict[str, dict[str, Any]] = {
    "a label": {"labels": {"team": "billing"}},
    "a taint": {"taints": ["os=windows:NoSchedule", "gpu=yes:NoExecute"]},
    "the number of machines": {"count": 7},
    "the rollout": {"rollout": {"max_unavailable": 3}},
}

REPLACES: dict[str, dict[str, Any]] = {
    "a reserve": {"kubelet": {"system_reserved": {"memory": "3Gi"}}},
    "max_pods": {"max_pods": 50},
    "a kubelet field": {"kubelet": {"config": {"podPidsLimit": 100}}},
    "containerd's configuration": {"containerd": {"config": {"oom_score": -10}}},
}


def test_every_download_has_a_digest_and_comes_before_its_unpacking(any_plan: NodePlan) -> None:
    artifacts = [each for each in any_plan.steps if each.kind == "artifact"]
    assert artifacts
    paths: set[str] = set()
    for step in any_plan.steps:
        if step.kind == "artifact":
            assert re.fullmatch(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}", step.fields["digest"]), step.name
            paths.add(step.fields["path"])
        if step.kind == "archive":
            assert step.fields["source"] in paths, f"{step.name} is unpacked before it is there"


def test_every_reference_is_in_the_closed_list_and_every_kind_is_known(any_plan: NodePlan) -> None:
    assert set(references(any_plan.document())) <= set(REFERENCES)
    assert {each.kind for each in any_plan.steps} <= set(KINDS)


def test_a_plan_is_ascii_and_the_same_every_time(any_plan: NodePlan) -> None:
    assert text(any_plan).isascii()
    pool = None if any_plan.role == "control-plane" else any_plan.os
    assert canonical(plan(pool).document()) == canonical(any_plan.document())


def test_no_image_is_latest_or_untagged(any_plan: NodePlan) -> None:
    images = re.findall(r'(?:registry\.k8s\.io|ghcr\.io)/[^\s"\\]+', text(any_plan))
    assert images
    for image in images:
        assert re.fullmatch(r".+:v?\d+\.\d+(\.\d+)?[-a-z0-9]*", image), image


def test_no_secret_is_in_a_command_line_or_an_environment(any_plan: NodePlan) -> None:
    """CP-05: the token is written only to a private file or to standard input."""
    for step in any_plan.steps:
        seen = [step.fields.get(key) for key in ("argv", "command", "environment")]
        assert "node.bootstrap_token" not in references(seen), step.name
        if step.kind == "file" and "node.bootstrap_token" in references(step.fields):
            assert step.fields["access"] == "private", step.name


@pytest.mark.parametrize("os", ["ubuntu-22.04", "windows-2019"])
@pytest.mark.parametrize("pool", CHANGES_NOTHING.values(), ids=CHANGES_NOTHING)
def test_changes_that_the_agent_reconciles_replace_no_machine(os: str, pool: dict[str, Any]) -> None:
    assert plan(os, pool).replace_digest == plan(os).replace_digest


@pytest.mark.parametrize("os", ["ubuntu-22.04", "windows-2019"])
@pytest.mark.parametrize("pool", REPLACES.values(), ids=REPLACES)
def test_changes_of_a_machines_options_replace_it(os: str, pool: dict[str, Any]) -> None:
    assert plan(os, pool).replace_digest != plan(os).replace_digest


@pytest.mark.parametrize("os", ["ubuntu-22.04", "windows-2019"])
def test_a_different_patch_minor_system_or_range_replaces_machines(os: str) -> None:
    digests = {
        plan(os).replace_digest,
        plan(os, kubernetes="1.32.12").replace_digest,
        plan(os, kubernetes="1.36.4").replace_digest,
        plan(os.replace("2019", "2022").replace("22.04", "24.04")).replace_digest,
        plan(os, network={"dns": "10.96.0.53"}).replace_digest,
    }
    assert len(digests) == 5


@pytest.mark.parametrize("os", [None, *SYSTEMS])
@pytest.mark.parametrize("kubernetes", PATCHES.values())
def test_every_supported_minor_gives_a_plan_for_every_system(os: str | None, kubernetes: str) -> None:
    if os and os.startswith("windows"):
        expected = {"build", "identity", "system", "firewall", "folders", "downloads", "runtime", "kubelet"}
        expected |= {"pod-network", "network", "proxy", "registered", "ready"}
    else:
        expected = {"identity", "system", "downloads", "runtime", "network", "verify"}
        expected |= {"kubelet", "ready"} if os else {"certificates", "control-plane", "addons", "agent"}
    node_plan = plan(os, kubernetes=kubernetes)
    assert {each.name for each in node_plan.phases} == expected | {"evidence"}
    assert all(each.steps for each in node_plan.phases)


@pytest.mark.parametrize("os", [None, "ubuntu-22.04", "windows-2019"])
@pytest.mark.parametrize(
    ("changed", "old"),
    [
        ({"pods": "10.128.0.0/14"}, "10.244."),
        ({"services": "172.20.0.0/16"}, "10.96."),
        ({"nodes": "10.30.0.0/16"}, "10.20."),
        ({"dns": "10.96.0.99"}, "10.96.0.10"),
        ({"domain": "example.internal"}, "cluster.local"),
    ],
)
def test_ipp_01_no_old_value_survives_when_one_changes(os: str | None, changed: dict[str, str], old: str) -> None:
    """The manifests in cloud-init/addons contain the defaults; the plan must not."""
    node_plan = (
        plan_node("dev", spec("windows-2019", network=changed), None) if os is None else plan(os, network=changed)
    )
    # "10.96." matches any address of the range; whole addresses and names must not match as a prefix of another
    pattern = re.compile(re.escape(old) if old.endswith(".") else rf"(?<![0-9.]){re.escape(old)}(?![0-9])")
    assert not [each for each in values(node_plan.document()) if isinstance(each, str) and pattern.search(each)]


@pytest.mark.parametrize("os", ["ubuntu-22.04", "windows-2019"])
@pytest.mark.parametrize("kubernetes", PATCHES.values())
def test_srv_09_every_kubelet_flag_is_one_that_the_minor_knows(os: str, kubernetes: str) -> None:
    words = [
        each for each in one(plan(os, kubernetes=kubernetes), "kubelet").fields["command"] if isinstance(each, str)
    ]
    own = words[next(place for place, each in enumerate(words) if each.endswith(("kubelet", "kubelet.exe"))) :]
    flags = {each[2:].partition("=")[0] for each in own if each.startswith("--")}
    assert "config" in flags
    assert flags <= releases.flags("kubelet", kubernetes, "windows" if os.startswith("windows") else "linux")


@pytest.mark.parametrize("os", ["ubuntu-22.04", "windows-2019"])
def test_labels_and_taints_are_references_outside_the_registration(os: str) -> None:
    """They are set when the node registers; the kubelet adds the build label (SCH-02, SCH-04)."""
    node_plan = plan(os, {"labels": {"team": "billing"}, "taints": ["dedicated=ci:NoSchedule", "solo:NoExecute"]})
    assert node_plan.registration == {
        "labels": "mullion.dev/pool=pool,team=billing",
        "taints": [
            {"key": "dedicated", "value": "ci", "effect": "NoSchedule"},
            {"key": "solo", "value": "", "effect": "NoExecute"},
        ],
        "taint_text": "dedicated=ci:NoSchedule,solo:NoExecute",
    }
    assert "billing" not in str([each.fields for each in node_plan.steps])
    assert {"registration.labels", "registration.taints"} <= set(references([each.fields for each in node_plan.steps]))


def test_a_pool_cannot_take_the_pool_label_away() -> None:
    node_plan = plan("ubuntu-22.04", {"labels": {"mullion.dev/pool": "other"}})
    assert node_plan.registration["labels"] == "mullion.dev/pool=pool"


def test_addons_and_labels_never_replace_a_machine(control_plane: NodePlan) -> None:
    addons = next(each for each in control_plane.phases if each.name == "addons")
    assert {each.on_change for each in addons.steps} == {OnChange.AGENT}


def test_a_changed_wait_step_replaces_no_machine(any_plan: NodePlan) -> None:
    waits = [each for each in any_plan.steps if each.kind == "wait"]
    assert waits
    assert all(each.replacing() is None for each in waits)
