"""contact.json: which steps a first contact tests, and why others are left out."""

from typing import Any

import pytest

from components.clouds import CLOUDS
from components.node import first_contact
from components.node.kinds import check
from tools.golden.samples import plan, spec

SYSTEMS = ("windows-2019", "windows-2022", "windows-2025")
COMBINATIONS: list[Any] = [
    pytest.param(cloud, os, runtime, mode, id=f"{cloud}-{os}-{runtime}-{mode}")
    for cloud in CLOUDS
    for os in SYSTEMS
    for runtime in ("containerd", "docker")
    for mode in ("overlay", "l2bridge")
]


@pytest.mark.parametrize(("cloud", "os", "runtime", "mode"), COMBINATIONS)
def test_every_step_is_either_tested_or_left_out_with_a_reason(cloud: str, os: str, runtime: str, mode: str) -> None:
    options: dict[str, Any] = {"cloud": cloud, "network": {"mode": mode}}
    made = first_contact.document("dev", spec(os, {"runtime": runtime}, **options), "pool")
    tested = [each["name"] for phase in made["phases"] for each in phase["steps"]]
    left = [each["step"] for each in made["left_out"]]
    whole = [each.name for each in plan(os, {"runtime": runtime}, **options).steps]
    assert sorted([*tested, *left]) == sorted(whole)
    assert all(each["why"] for each in made["left_out"])
    assert {"containers", "pagefile", "firewall", "download-kubernetes-node", runtime} <= set(tested)


@pytest.mark.parametrize(("cloud", "os", "runtime", "mode"), COMBINATIONS[::5])
def test_no_step_needs_a_fact_or_a_secret_of_a_cluster(cloud: str, os: str, runtime: str, mode: str) -> None:
    chosen = spec(os, {"runtime": runtime}, cloud=cloud, network={"mode": mode})
    made = first_contact.document("dev", chosen, "pool")
    used = {*check.references(made["phases"]), *check.references(made["networks"])}
    assert used <= {*first_contact.OWN, *(f"machine.{name}" for name in first_contact.KNOWN)}


def test_a_download_without_digest_is_left_out_with_all_that_uses_it() -> None:
    made = first_contact.document("dev", spec("windows-2022", {"runtime": "docker"}), "pool")
    left = {each["step"] for each in made["left_out"] if "no digest" in each["why"]}
    assert left == {"download-cri-dockerd", "unpack-cri-dockerd", "cri-dockerd", "cri-dockerd-runs"}


def test_networks_of_both_modes_are_made_whatever_the_plan_has() -> None:
    made = first_contact.document("dev", spec("windows-2022", network={"mode": "l2bridge"}), "pool")["networks"]
    assert made["overlay"]["body"]["Type"] == "Overlay"
    assert made["l2bridge"]["step"]["kind"] == "hns-network"
    for network in made.values():
        assert {"OutBoundNAT", "ROUTE", "ACL"} == {each["Type"] for each in network["policies"]}
