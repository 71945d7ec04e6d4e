"""Windows settings: the restart, image phases, folders and their access rights."""

import json

import pytest

from components import releases
from components.node.plan import NodePlan, Scope
from tools.golden.samples import one, phase, plan, position


@pytest.mark.parametrize("os", releases.windows_for("1.37.0"))
def test_settings_that_need_a_restart_come_before_the_only_reboot_step(os: str) -> None:
    node_plan = plan(os)
    fixes = {
        each.fields["value"]: each.fields["data"] for each in phase(node_plan, "system") if each.kind == "registry"
    }
    assert fixes.items() >= {each.value: each.number for each in releases.windows(os).fixes}.items()
    assert fixes["EnableCompartmentNamespace"] == 1
    assert (fixes["NoAutoUpdate"], fixes["NtpServer"]) == (1, "169.254.169.123,0x9")
    assert fixes["SpecialPollInterval"] == 900, "Windows' own default is a week"
    reboots = [each for each in node_plan.steps if each.kind == "reboot"]
    assert len(reboots) == 1
    before = {"hostname", "containers", "pagefile", *(f"registry-{each}" for each in fixes)}
    assert all(position(node_plan, each) < position(node_plan, "reboot") for each in before)


@pytest.mark.parametrize("runtime", ["containerd", "docker"])
def test_a_machine_from_a_baked_image_downloads_nothing_and_does_not_restart(runtime: str) -> None:
    node_plan = plan("windows-2019", {"runtime": runtime}, kubernetes="1.23.17")
    later = [each for phase in node_plan.phases if phase.scope is Scope.NODE for each in phase.steps]
    asking = {"feature", "pagefile", "reboot", "artifact", "archive", "container-image"}
    assert [each.name for each in later if each.kind in asking] == []
    assert one(node_plan, "hostname").fields["restart"] is False, "its name holds from the next boot on"


def test_image_phases_contain_nothing_of_one_cluster() -> None:
    ours = plan("windows-2019", {"labels": {"team": "a"}}, network={"nodes": "10.66.0.0/16", "domain": "ours.example"})
    held = json.dumps([each.document() for each in ours.phases if each.scope is Scope.IMAGE])
    assert not [each for each in ("10.66.", "ours.example", "10.244.", "10.96.", "team") if each in held]


def test_windows_on_google_cloud_sends_keepalives_before_its_firewall_drops_connections() -> None:
    node_plan = plan("windows-2019", cloud="gcp")
    fixes = {each.fields["value"]: each.fields["data"] for each in node_plan.steps if each.kind == "registry"}
    assert (fixes["KeepAliveTime"], fixes["NtpServer"]) == (60000, "metadata.google.internal,0x9")
    azure = {each.fields["value"] for each in plan("windows-2019", cloud="azure").steps if each.kind == "registry"}
    assert not {"NtpServer", "SpecialPollInterval"} & set(azure), "the host's clock"


def test_sec_01_folders_with_secrets_are_private_before_files_are_written(windows: NodePlan) -> None:
    for path in (r"C:\k", r"C:\var", r"C:\var\lib\kubelet", r"C:\flannel", r"C:\ProgramData\containerd"):
        steps = [each for each in windows.steps if each.kind == "directory" and each.fields["path"] == path]
        assert [each.fields.get("access") for each in steps] == ["private"], path
        assert position(windows, steps[0].name) < position(windows, "download-containerd")
    below = [each for each in windows.steps if each.kind == "directory" and each.fields["path"].startswith("C:\\k")]
    assert {each.fields.get("access") for each in below} == {"private"}


def test_cve_2024_5321_no_user_reads_or_changes_a_log(windows: NodePlan) -> None:
    logs = [each.fields for each in windows.steps if each.kind == "directory" and "log" in each.fields["path"]]
    assert {r"C:\var\log", r"C:\var\log\kubelet", r"C:\var\log\containerd"} <= {each["path"] for each in logs}
    assert [each["path"] for each in logs if each.get("access") != "private" or "writers" in each] == []


def test_containers_can_write_to_pod_volumes(windows: NodePlan) -> None:
    open_to_others = {each.fields["path"]: each.fields["writers"] for each in windows.steps if "writers" in each.fields}
    everyone = ["S-1-5-93-2-2", "S-1-5-11"]
    assert open_to_others == {r"C:\var\lib\kubelet\pods": everyone}, "ContainerUser, and users that images create"
