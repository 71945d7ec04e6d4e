"""`mullion plan`: the document, its text, and what it says against an earlier state."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from operations.commands import plan as planning
from operations.stacks.paths import REPOSITORY
from tests.operations.conftest import STACK

Run = Callable[..., Result]


@pytest.fixture
def planned(clone: Path, mullion: Run) -> Callable[..., dict[str, Any]]:
    """Plan the small stack, after replacing texts in its file, and return the document."""

    def plan(*words: str, **replaced: str) -> dict[str, Any]:
        text = STACK
        for old, new in zip(list(replaced.values())[::2], list(replaced.values())[1::2], strict=True):
            assert old in text
            text = text.replace(old, new)
        (clone / "stacks" / "Pulumi.small.yaml").write_text(text)
        result = mullion("plan", "small", "--json", *words)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return plan


def test_the_document_has_every_machine_with_its_address(planned: Callable[..., dict[str, Any]]) -> None:
    whole = planned()
    assert [each["name"] for each in whole["machines"]] == ["control-plane-0", "linux-0", "web-0", "web-1"]
    assert len({each["address"] for each in whole["machines"]}) == 4
    assert whole["reachability"]["missing"] == []
    assert whole["endpoint"]["url"] == "https://api.small.mullion.internal:6443"


def test_both_minimum_sizes_of_the_pod_range_are_shown_ipp_02_ipp_03(planned: Callable[..., dict[str, Any]]) -> None:
    pods = planned()["network"]["pod_addresses"]
    nodes = 4 + 2  # each pool may have one more while it is replaced
    assert pods == {
        "available": 65536,
        "needed_by_node": nodes * 256,
        "needed_by_pods": nodes + nodes * 110,
        "nodes": nodes,
    }


def test_what_pods_can_have_is_shown_per_pool_res_06(planned: Callable[..., dict[str, Any]]) -> None:
    web = next(each for each in planned()["pools"] if each["name"] == "web")
    gib = 2**30
    # m6i.xlarge: 4 vCPU, 16 GiB; less 500m and 2 GiB for the system, and the hard eviction threshold
    assert web["allocatable"]["cpu_milli"] == 3500
    assert 13 * gib < web["allocatable"]["memory_bytes"] < 14 * gib
    assert web["user_data"]["bytes"] < web["user_data"]["limit"] == 16384


def test_the_text_says_what_the_document_says(clone: Path, mullion: Run) -> None:
    result = mullion("plan", "small")
    assert result.exit_code == 0
    for word in ("web-1", "10.20.", "https://api.small.mullion.internal:6443", "16 of 16 paths open", "never: changes"):
        assert word in result.stdout, word
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", result.stdout), "plain text, no control characters"


def test_acknowledged_warnings_come_with_their_reason(planned: Callable[..., dict[str, Any]], mullion: Run) -> None:
    planned(a="pools:", b="acknowledge: {kubernetes-end-of-life: tried on it}\n    pools:", c="1.36.4", d="1.32.13")
    assert "acknowledged: tried on it" in mullion("plan", "small").stdout


def test_resources_are_counted_by_type(planned: Callable[..., dict[str, Any]]) -> None:
    counts = planned("--resources")["resources"]
    assert counts["aws:ec2/instance:Instance"] == 4
    assert counts["mullion:index:MixedCluster"] == 1


CHANGES = {
    "nothing": ({}, [], [], [], None),
    "one machine more": ({"a": "count: 2", "b": "count: 3"}, ["web-2"], [], [], None),
    "one machine less": ({"a": "count: 2", "b": "count: 1"}, [], ["web-1"], [], None),
    "another size": ({"a": "count: 2", "b": "count: 2, size: m6i.2xlarge"}, [], [], ["web-0", "web-1"], None),
    "another reserve": (
        {"a": "count: 2", "b": "count: 2, kubelet: {system_reserved: {memory: 3Gi}}"},
        [],
        [],
        ["web-0", "web-1"],
        None,
    ),
    "a label": ({"a": "count: 2", "b": "count: 2, labels: {team: web}"}, [], [], [], None),
    "the control plane's kubelet": (
        {"a": "    pools:", "b": "    control_plane: {kubelet: {verbosity: 4}}\n    pools:"},
        [],
        [],
        [],
        "pointer",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_against_an_earlier_plan_each_machine_is_added_removed_replaced_or_kept(
    change: str, planned: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    replaced, added, removed, anew, note = CHANGES[change]
    (tmp_path / "earlier.json").write_text(json.dumps(planned()))
    found = planned("--against", str(tmp_path / "earlier.json"), **replaced)["against"]
    assert found["added"] == added
    assert found["removed"] == removed
    assert sorted(found["replaced"]) == anew
    assert (found["control_plane"] is not None) == (note is not None)
    assert "control-plane-0" in found["kept"], "the control plane is never replaced"


def test_the_reason_of_a_replacement_is_named(planned: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "earlier.json").write_text(json.dumps(planned()))
    against = ["--against", str(tmp_path / "earlier.json")]
    found = planned(*against, a="count: 2", b="count: 2, size: m6i.2xlarge")["against"]["replaced"]
    assert found["web-0"] == "pools.web.size: m6i.xlarge -> m6i.2xlarge"
    found = planned(*against, a="    pools:", b="    network: {nodes: 10.50.0.0/16}\n    pools:")["against"]["replaced"]
    assert found["web-0"].startswith("address 10.20."), "the address is fixed, so another one is another machine"
    assert "network.nodes: 10.20.0.0/16 -> 10.50.0.0/16" in found["web-0"]


def test_against_an_exported_state_tags_say_what_machines_were_made_as(
    planned: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    whole = planned()
    (tmp_path / "state.json").write_text(json.dumps(exported(whole, stale="web-1")))
    found = planned("--against", str(tmp_path / "state.json"))["against"]
    assert list(found["replaced"]) == ["web-1"]
    assert found["kept"] == ["control-plane-0", "linux-0", "web-0"]
    assert found["control_plane"], "the state's control-plane bundle is another one"


def exported(whole: dict[str, Any], stale: str) -> dict[str, Any]:
    """A state with the document's machines, one of them made of something else."""
    digests = {each["name"]: each["replace_digest"][:16] for each in whole["pools"]}
    rows = []
    for machine in whole["machines"]:
        tags = {"mullion:cluster": "small", "mullion:pool": machine["pool"]}
        if machine["pool"] != "control-plane":
            tags["mullion:digest"] = "0" * 16 if machine["name"] == stale else digests[machine["pool"]]
        urn = f"urn:pulumi:small::mullion::x$aws:ec2/instance:Instance::small-{machine['name']}"
        given = {"tags": tags, "privateIp": machine["address"]}
        rows.append({"type": "aws:ec2/instance:Instance", "urn": urn, "inputs": given})
    rows.append({**rows[-1], "delete": True, "inputs": {}})
    bundle = {"inputs": {"key": f"bundles/control-plane/{'0' * 64}.zip"}}
    rows.append({"type": "aws:s3/bucketObjectv2:BucketObjectv2", "urn": "a::b::c::bundle-control-plane", **bundle})
    return {"version": 3, "deployment": {"resources": rows}}


def test_errors_of_the_spec_are_all_printed_with_exit_code_2(clone: Path, mullion: Run) -> None:
    path = clone / "stacks" / "Pulumi.small.yaml"
    path.write_text(STACK.replace("count: 1", "cuont: 1").replace("aws:region: eu-west-1", "aws:region: nowhere"))
    result = mullion("plan", "small")
    assert result.exit_code == 2
    assert "2 errors" in result.stderr
    assert "cuont" in result.stderr
    assert "Traceback" not in result.output


def command(stdout: int) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "operations", "plan", "aws-dev", "--json"]
    return subprocess.run(words, cwd=REPOSITORY, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.subprocess
def test_a_pipe_that_its_reader_closes_early_is_not_an_error() -> None:
    reads, writes = os.pipe()
    os.close(reads)
    done = command(writes)
    os.close(writes)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.subprocess
def test_a_full_disk_behind_the_output_is_reported_without_a_traceback() -> None:
    with Path("/dev/full").open("wb") as full:
        done = command(full.fileno())
    assert done.returncode == 1
    assert re.fullmatch(r"mullion: standard output: .*No space.*\n", done.stderr)


def modules_after(*words: str, before: str = "") -> set[str]:
    """Return all modules, by full name, that a process of the command has imported at its end.

    before: a line of Python that the process runs first.
    """
    code = (
        f"{before}\nimport sys, operations.__main__ as m\n"
        f"sys.argv = ['mullion', *{words!r}]\n"
        "try:\n    m.main()\nexcept SystemExit:\n    pass\n"
        "print('MODULES', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("MODULES")[2].split())


@pytest.mark.subprocess
def test_help_imports_neither_pulumi_nor_pydantic_nor_rich() -> None:
    assert not modules_after("--help") & {"pulumi", "pydantic", "rich", "yaml"}


@pytest.mark.subprocess
def test_plan_imports_no_pulumi_and_no_rich() -> None:
    found = modules_after("plan", "aws-dev")
    assert "pydantic" in found, "it did plan"
    assert not found & {"pulumi", "rich", "cryptography"}
    assert not found & {"operations.commands.plan_against", "operations.commands.spec_changes"}


@pytest.mark.subprocess
def test_plan_reads_neither_source_files_nor_metadata_of_packages() -> None:
    refused = "import ast, importlib.metadata as metadata; ast.parse = metadata.entry_points = None"
    assert "operations.commands.plan_text" in modules_after("plan", "aws-dev", before=refused)


def test_against_a_state_the_options_behind_a_replacement_are_named(
    planned: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    whole = planned()
    state = exported(whole, stale="none")
    cluster = {"cloud": "aws", "kubernetes": "1.36.4", "pools": {"linux": {"os": "ubuntu-24.04", "count": 1.0}}}
    cluster["pools"] |= {"web": {"os": "windows-2022", "count": 2.0}}
    state["deployment"]["resources"].append(
        {"type": "mullion:index:MixedCluster", "urn": "a::b::c::small", "inputs": cluster}
    )
    (tmp_path / "state.json").write_text(json.dumps(state))
    change = {"a": "count: 2", "b": "count: 2, disk_gb: 200, labels: {team: web}"}
    found = planned("--against", str(tmp_path / "state.json"), **change)["against"]
    assert found["replaced"] == dict.fromkeys(("web-0", "web-1"), "pools.web.disk_gb: 128 -> 200")
    assert found["waves"] == {"web": [["web-0"], ["web-1"]]}
    assert {option["path"]: option["effect"] for option in found["options"]} == {
        "pools.web.disk_gb": "replaced",
        "pools.web.labels.team": "in place",
    }


def test_against_says_when_the_changed_option_is_unknown(
    clone: Path, planned: Callable[..., dict[str, Any]], mullion: Run, tmp_path: Path
) -> None:
    (tmp_path / "state.json").write_text(json.dumps(exported(planned(), stale="web-1")))
    shown = mullion("plan", "small", "--against", str(tmp_path / "state.json")).stdout
    assert f"\nCompared with {tmp_path / 'state.json'}\n" in shown
    assert "options   unknown: the spec of the built cluster is not recorded" in shown
    assert "web-1: its node plan differs; the option is unknown" in shown


def test_against_without_a_file_compares_with_the_built_cluster(
    planned: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = exported(planned(), stale="web-1")["deployment"]["resources"]
    monkeypatch.setattr(planning, "_built", lambda _name: state)
    against = planned("--against")["against"]
    assert (against["with"], list(against["replaced"])) == ("the built cluster", ["web-1"])


def test_the_text_shows_what_each_pool_is_made_of(clone: Path, mullion: Run) -> None:
    options = "labels: {team: web}, disk_gb: 200, kubelet: {kube_reserved: {memory: 1Gi}}"
    text = STACK.replace("count: 2", f"count: 2, {options}")
    text += "    images: {windows-2022: ami-0123456789abcdef0}\n    expires: 3d\n"
    text += "    control_plane: {etcd_disk: {}}\n"
    text += "    network: {mode: l2bridge, pods: 10.244.0.0/14, nodes: 10.20.0.0/22}\n"
    (clone / "stacks" / "Pulumi.small.yaml").write_text(text)
    result = mullion("plan", "small")
    assert result.exit_code == 0, result.output
    for words in (
        "web: 2 x m6i.xlarge, windows-2022, 200 GiB disk",
        " GiB disk, 20 GiB gp3 for etcd",
        "image        ami-0123456789abcdef0",
        "labels       mullion.dev/pool=web,team=web".replace(",", ", "),
        "taints       os=windows:NoSchedule",
        "reserved     system cpu 500m and memory 2Gi, kube memory 1Gi, eviction below memory.available 500Mi",
        "expires       3d",
        "/24\n",
    ):
        assert words in result.stdout, words


def test_firewall_rules_are_folded_unless_asked_for(clone: Path, mullion: Run) -> None:
    folded, whole = mullion("plan", "small").stdout, mullion("plan", "small", "--firewall").stdout
    assert "`mullion plan small --firewall` lists them" in folded
    assert "30000-32767" not in folded
    assert "30000-32767" in whole
    count = int(re.findall(r"Firewall rules \((\d+)\)", whole)[0])
    counts = re.findall(r"^  (?:workers|control-plane) +(?:in|out) +(\d+) ", folded, re.MULTILINE)
    assert sum(map(int, counts)) == count
