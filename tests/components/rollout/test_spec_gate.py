"""The gate of changes that no run can make to a built cluster: it compares the component's inputs with the spec."""

from typing import Any

import pytest

from components.rollout import spec_gate
from components.spec.models import ClusterSpec
from tests.components.spec.gmsa_values import PLUGIN
from tests.components.spec.test_change_effects import SAMPLE, merged


def spec(**change: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(merged(SAMPLE, change))


def planes(count: float) -> dict[str, Any]:
    return merged(SAMPLE, {"control_plane": {"count": count}})


def test_a_spec_of_another_version_is_unknown() -> None:
    assert spec_gate.built_spec({**SAMPLE, "an_option_that_went": 1}) is None
    assert spec_gate.built_spec(None) is None
    assert spec_gate.built_spec(SAMPLE) == spec()


def test_fewer_control_planes_are_refused_with_path_reason_and_fix() -> None:
    """The engine gives numbers of inputs as floats."""
    with pytest.raises(RuntimeError, match="nothing was changed") as refused:
        spec_gate.refuse(planes(3.0), spec(control_plane={"count": 1}))
    assert "control_plane.count: 1 is fewer than the 3 that the cluster has" in str(refused.value)
    assert "Write 3, or remove the cluster" in str(refused.value)


@pytest.mark.parametrize(("before", "now"), [(1.0, 3), (3.0, 3), (1.0, 1)])
def test_growing_and_staying_are_permitted(before: float, now: int) -> None:
    spec_gate.refuse(planes(before), spec(control_plane={"count": now}))


@pytest.mark.parametrize("before", [None, {}, {**SAMPLE, "an_option_that_went": 1}], ids=["new", "empty", "unreadable"])
def test_an_unknown_spec_refuses_nothing(before: dict[str, Any] | None) -> None:
    spec_gate.refuse(before, spec())


def test_a_lost_controller_and_a_lost_driver_are_named_together() -> None:
    before = merged(SAMPLE, {"cloud_controller": "external", "csi": ["ebs", "smb"]})
    with pytest.raises(RuntimeError) as refused:
        spec_gate.refuse(before, spec(cloud_controller="none", csi=["smb"]))
    assert "cloud_controller: without its controller" in str(refused.value)
    assert "csi: without ebs nothing attaches" in str(refused.value)


PODS: dict[str, dict[str, Any] | None] = {"none": None, "accepted": {"issuer": "accepted"}, "signs": {}}
STEPS = [
    ("none", "accepted", 3, ""),
    ("accepted", "signs", 3, ""),
    ("signs", "accepted", 3, ""),
    ("accepted", "none", 3, ""),
    ("signs", "signs", 3, ""),
    ("none", "signs", 1, ""),
    ("none", "signs", 3, "pod_identity.issuer: control planes change one after the other"),
    ("signs", "none", 1, "pod_identity: without it API servers refuse the tokens"),
]


@pytest.mark.parametrize(("before", "now", "count", "refusal"), STEPS)
def test_an_issuer_comes_and_goes_only_by_way_of_being_accepted(
    before: str, now: str, count: int, refusal: str
) -> None:
    """An API server that does not know the issuer refuses the tokens that another one has signed for it."""
    plane = {"control_plane": {"count": count}}
    built = merged(SAMPLE, {**plane, "pod_identity": PODS[before]})
    wanted = spec(**plane, pod_identity=PODS[now])
    if not refusal:
        spec_gate.refuse(built, wanted)
        return
    with pytest.raises(RuntimeError) as refused:
        spec_gate.refuse(built, wanted)
    assert refusal in str(refused.value) and "Write issuer: accepted" in str(refused.value)


def test_on_azure_an_issuer_comes_and_goes_as_on_aws() -> None:
    azure = {"cloud": "azure", "control_plane": {"size": "Standard_D2s_v5", "count": 3}}
    for before, now in (("none", "signs"), ("signs", "none")):
        with pytest.raises(RuntimeError, match="Write issuer: accepted"):
            spec_gate.refuse(
                merged(SAMPLE, {**azure, "pod_identity": PODS[before]}), spec(**azure, pod_identity=PODS[now])
            )


def test_sec_03_a_removed_plug_in_needs_its_policy_until_no_machine_has_it() -> None:
    """Windows machines keep the plug-in until they are replaced; the control plane's next run removes the policy."""
    before, kept = merged(SAMPLE, PLUGIN), {"gmsa": {"keep_policy": True}}
    with pytest.raises(RuntimeError, match=r"gmsa\.plugin: .* Write gmsa\.keep_policy: true"):
        spec_gate.refuse(before, spec())
    with pytest.raises(RuntimeError, match=r"gmsa\.plugin: .* without the plug-in"):
        spec_gate.refuse(merged(SAMPLE, {}), spec(**PLUGIN))
    spec_gate.refuse(merged(SAMPLE, kept), spec(**PLUGIN))
    spec_gate.refuse(before, spec(**kept))
    spec_gate.refuse(before, spec(**PLUGIN))
    spec_gate.refuse(merged(SAMPLE, kept), spec())


def test_an_issuer_that_signs_at_once_is_refused_if_the_control_plane_grows_in_the_same_run() -> None:
    with pytest.raises(RuntimeError, match="control planes change one after the other"):
        spec_gate.refuse(planes(1.0), spec(control_plane={"count": 3}, pod_identity={}))


def own_issuer(*values: str) -> dict[str, Any]:
    arguments = [{"name": "service-account-issuer", "value": each} for each in values]
    return {"kubeadm": {"config": {"ClusterConfiguration": {"apiServer": {"extraArgs": arguments}}}}}


def test_an_issuer_of_the_users_own_is_not_replaced_by_the_public_one() -> None:
    """API servers would refuse all running tokens."""
    built = merged(SAMPLE, own_issuer("https://tokens.example.com"))
    with pytest.raises(RuntimeError, match=r"refuse all tokens of https://tokens\.example\.com.* remove pod_identity"):
        spec_gate.refuse(built, spec(pod_identity={"issuer": "accepted"}))
    spec_gate.refuse(built, spec(**own_issuer("https://tokens.example.com")))
    spec_gate.refuse(merged(SAMPLE, own_issuer()), spec(pod_identity={"issuer": "accepted"}))


def test_a_state_of_a_version_in_which_gmsa_was_true_or_false_is_read() -> None:
    """A spec that cannot be read is compared with nothing, so no gate would hold."""
    built = spec_gate.built_spec(merged(SAMPLE, {"gmsa": False}))
    assert built
    assert built.gmsa == spec().gmsa


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_only_on_google_cloud_a_disk_of_etcd_cannot_be_taken_from_running_members(cloud: str) -> None:
    sizes = {"aws": "m6i.large", "azure": "Standard_D2s_v5", "gcp": "n2-standard-2"}
    before = merged(SAMPLE, {"cloud": cloud, "control_plane": {"size": sizes[cloud], "etcd_disk": {}}})
    built, now = ClusterSpec.model_validate(before), spec(cloud=cloud, control_plane={"size": sizes[cloud]})
    said = spec_gate.refusals(built, now)
    assert bool(said) == (cloud == "gcp")
    assert all(each.startswith("control_plane.etcd_disk: on GCP the disks would be deleted") for each in said)
    assert not spec_gate.refusals(now, built) and not spec_gate.refusals(built, built)
