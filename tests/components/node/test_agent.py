"""Steps and configuration of the control-plane agent in the control plane's plan."""

from typing import Any

import pytest

from components.node import agent
from components.node.kinds import OnChange
from tools.golden.samples import PATCHES, content, one, plan, position, text

FLAG = {"ClusterConfiguration": {"apiServer": {"extraArgs": {"v": "3"}}}}


def configuration(**cluster: Any) -> dict[str, Any]:
    return content(plan(None, **cluster), "agent-config")


def test_kubeadm_upgrade_runs_before_the_kubelet_and_only_during_the_machines_turn() -> None:
    control_plane = plan(None)
    order = [position(control_plane, each) for each in ("unpack-kubernetes-node", "init-config", "agent-config")]
    order += [position(control_plane, each) for each in ("kubeadm-upgrade", "kubelet", "kubeadm-init", "agent")]
    assert order == sorted(order)
    step = one(control_plane, "kubeadm-upgrade")
    assert step.fields["requires"] == agent.TURN
    assert step.fields["argv"][-1] == "agent.upgrade"
    assert one(control_plane, "kubelet").fields["restarts_on"] == ["/usr/local/bin/kubelet"]


def test_the_agents_digest_changes_only_with_the_documents_that_kubeadm_reads() -> None:
    before = configuration()["digest"]
    assert configuration(kubernetes="1.32.12")["digest"] != before
    assert configuration(kubeadm={"config": FLAG})["digest"] != before
    assert configuration(control_plane={"kubelet": {"config": {"maxPods": 50}}})["digest"] != before
    assert configuration(control_plane={"size": "m6i.2xlarge"})["digest"] == before
    assert configuration(owner="somebody")["digest"] == before


def test_upgrade_commands_apply_on_the_first_machine_and_upgrade_the_others() -> None:
    """kubeadm's configuration is uploaded before the upgrade, so that the upgrade applies changed flags."""
    commands = configuration(kubeadm={"ignore_preflight": ["SystemVerification"]})["upgrade"]
    uploaded, applied = commands["apply"]
    (followed,) = commands["node"]
    (proxied,) = commands["last"]
    assert uploaded[1:5] == ["init", "phase", "upload-config", "kubeadm"]
    assert applied[1:5] == ["upgrade", "apply", "v1.32.13", "--yes"]
    assert proxied[1:5] == ["init", "phase", "addon", "kube-proxy"]
    assert followed[1:3] == ["upgrade", "node"]
    for each, ignored in ((applied, "CreateJob,SystemVerification"), (followed, "SystemVerification")):
        assert each[each.index("--ignore-preflight-errors") + 1] == ignored
        assert each[each.index("--patches") + 1] == "/etc/mullion/kubeadm/patches"


def test_a_worker_that_fails_kubeadms_job_does_not_stop_an_upgrade() -> None:
    """The Job lands on any node that its pod tolerates; kubeadm then warns."""
    for version in ("1.24.17", "1.36.4"):
        commands = configuration(kubernetes=version)["upgrade"]
        [applied] = [each for each in commands["apply"] if "apply" in each]
        ignored = applied[applied.index("--ignore-preflight-errors") + 1].split(",")
        assert "CreateJob" in ignored and "all" not in ignored
        assert not any("CreateJob" in word for word in commands["node"][-1])


def test_all_preflight_errors_stand_alone() -> None:
    """kubeadm refuses names of checks beside `all` (apis/kubeadm/validation, ValidateIgnorePreflightErrors)."""
    applied = configuration(kubeadm={"ignore_preflight": ["all"]})["upgrade"]["apply"][-1]
    assert applied[applied.index("--ignore-preflight-errors") + 1] == "all"


def test_upgrade_commands_name_patches_only_if_kubeadm_takes_them() -> None:
    assert "--patches" not in configuration(kubernetes="1.24.17")["upgrade"]["node"][0]


def test_workers_have_no_agent_and_its_steps_replace_no_machine() -> None:
    for os in ("ubuntu-24.04", "windows-2019"):
        assert agent.CONFIG not in text(plan(os))
    assert {one(plan(None), each).on_change for each in ("agent-config", "kubeadm-upgrade", "agent")} == {
        OnChange.AGENT
    }


@pytest.mark.parametrize(("minor", "tag"), [("1.32", None), ("1.33", "3.5.27-0"), ("1.34", None)])
def test_kubeadm_gets_the_tag_of_etcds_image_where_its_own_is_too_old(minor: str, tag: str | None) -> None:
    documents = content(plan(None, kubernetes=PATCHES[minor]), "init-config")
    assert documents[1]["etcd"]["local"].get("imageTag") == tag


@pytest.mark.parametrize(
    ("written", "quota"),
    [(None, 8 << 30), ("4294967296", 4 << 30), ("much", 8 << 30), ("0", 2 << 30), ("-1", 0)],
    ids=["not written", "a number", "no number", "etcd's default", "unlimited"],
)
@pytest.mark.parametrize("kubernetes", [PATCHES["1.30"], PATCHES["1.36"]])
def test_the_agent_knows_the_quota_that_etcd_has(written: str | None, quota: int, kubernetes: str) -> None:
    """kubeadm takes arguments as a map up to 1.30, as a list from 1.31 on."""
    listed = PATCHES["1.36"] == kubernetes
    extra: Any = [{"name": "quota-backend-bytes", "value": written}] if listed else {"quota-backend-bytes": written}
    config = {"etcd": {"local": {"extraArgs": extra}}} if written else {}
    made = plan(None, kubernetes=kubernetes, kubeadm={"config": {"ClusterConfiguration": config}})
    assert content(made, "agent-config")["etcd"]["quota"] == quota
    assert (written or str(quota)) in str(content(made, "init-config")[1]["etcd"])


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (None, None),
        ("02:00-05:00", {"begin": 120, "minutes": 180}),
        ("23:30-00:15", {"begin": 1410, "minutes": 45}),
    ],
)
def test_the_agent_restarts_its_machine_only_in_the_stacks_window(window: str | None, expected: Any) -> None:
    assert configuration(control_plane={"reboot_window": window}).get("reboots") == expected
