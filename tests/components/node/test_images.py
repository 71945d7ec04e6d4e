"""Images by digest: where node plans use the digests of `artifacts.images`."""

import json
import re
from typing import Any

import pytest

from components import releases
from components.node.plan import NodePlan
from components.spec.models import ClusterSpec
from components.spec.report import Severity
from tests.components.spec.documents import problems
from tools.golden.plans import IMAGES, NEWEST
from tools.golden.samples import PATCHES, content, one, plan, text

DIGEST = f"sha256:{'7' * 64}"
PINS = {"artifacts": {"images": dict.fromkeys(IMAGES, DIGEST)}}
POD_TARGETS = {"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"}


def pins(kubernetes: str) -> dict[str, Any]:
    images = (*releases.control_plane_images(kubernetes), releases.pause_image(kubernetes, "ubuntu-24.04"))
    return {"kubernetes": kubernetes, "artifacts": {"images": dict.fromkeys(images, DIGEST)}}


def targets(made: NodePlan) -> set[str]:
    names = {each.name.removeprefix("image-") for each in made.steps if each.name.startswith("image-")}
    assert all(one(made, f"image-{each}").fields["path"].endswith(f"/{each}+strategic.json") for each in names)
    return names


@pytest.mark.parametrize(
    ("minor", "more"),
    [
        ("1.25", set()),
        ("1.30", set()),
        ("1.31", {"corednsdeployment"}),
        ("1.36", {"corednsdeployment"}),
        ("1.37", {"corednsdeployment", "kubeproxydaemonset"}),
    ],
)
def test_kubeadm_gets_a_patch_for_each_target_that_its_minor_knows(minor: str, more: set[str]) -> None:
    made = plan(None, **pins(PATCHES[minor]))
    assert targets(made) == POD_TARGETS | more
    folder = one(made, "kubeadm-patches").fields["path"]
    assert all(one(made, f"image-{each}").fields["path"].startswith(f"{folder}/") for each in targets(made))
    assert content(made, "init-config")[0]["patches"] == {"directory": folder}
    assert one(made, "kubeadm-join").fields["input"]["patches"] == {"directory": folder}
    commands = content(made, "agent-config")["upgrade"]
    assert [commands["apply"][-1][-2:], commands["node"][-1][-2:]] == [["--patches", folder]] * 2


def test_a_control_plane_that_joins_an_older_cluster_patches_no_image() -> None:
    made = plan(None, kubernetes=NEWEST, **PINS)
    join = one(made, "kubeadm-join").fields
    folder = join["older_input"]["patches"]["directory"]
    inside = [each.name for each in made.steps if str(each.fields.get("path")).startswith(f"{folder}/")]
    assert inside == ["older-kubelet-patch"]
    assert content(made, "older-kubelet-patch") == content(made, "kubelet-patch")
    assert {**join["older_input"], "patches": join["input"]["patches"]} == join["input"]
    assert (join["version"], join["url"]) == (NEWEST, {"ref": "facts.api_url"})
    assert "older_input" not in one(plan(None, kubernetes=NEWEST), "kubeadm-join").fields


def test_kubeadm_before_patches_of_the_kubelet_gets_none() -> None:
    assert targets(plan(None, **pins(PATCHES["1.24"]))) == set()


def test_another_digest_gets_another_folder_so_that_no_older_patch_is_applied() -> None:
    first = plan(None, kubernetes=NEWEST, **PINS)
    other = {**PINS["artifacts"]["images"], f"registry.k8s.io/kube-apiserver:v{NEWEST}": f"sha256:{'8' * 64}"}
    second, unpinned = (plan(None, kubernetes=NEWEST, artifacts={"images": each}) for each in (other, {}))
    folders = {one(each, "kubeadm-patches").fields["path"] for each in (first, second, unpinned)}
    digests = {content(each, "agent-config")["digest"] for each in (first, second, unpinned)}
    assert (len(folders), len(digests)) == (3, 3), "the agent upgrades the control plane for each"


def test_a_pool_keeps_its_machines_when_only_images_of_the_control_plane_change() -> None:
    control_plane = {each: DIGEST for each in IMAGES if "pause" not in each}
    pinned, by_tag = (
        plan("ubuntu-24.04", kubernetes=NEWEST, artifacts={"images": each}) for each in (control_plane, {})
    )
    assert pinned.replace_digest == by_tag.replace_digest


@pytest.mark.parametrize("os", [None, "ubuntu-24.04", "windows-2022"])
def test_containerd_keeps_the_pause_image_by_the_name_under_which_it_stores_it(os: str | None) -> None:
    pause = releases.pause_image(NEWEST, os or "ubuntu-24.04")
    found = re.search(r'sandbox = "([^"]+)"', content(plan(os, kubernetes=NEWEST, **PINS), "containerd-config"))
    assert found and found[1] == f"{pause.rpartition(':')[0]}@{DIGEST}"


def test_no_image_of_a_pinned_stack_is_started_by_tag() -> None:
    docker = {"runtime": "docker"}
    for os, options in ((None, {}), ("ubuntu-24.04", {}), ("windows-2022", {}), ("windows-2022", docker)):
        made = text(plan(os, options, kubernetes=NEWEST, **PINS))
        # `ctr images tag` gives a pulled digest its tag
        made = re.sub(r'"images",\s*"tag",\s*"--force",\s*"[^"]+@sha256:[0-9a-f]+",\s*"[^"]+"', "", made)
        for image in IMAGES:
            assert not re.search(rf"{re.escape(image)}(?!@sha256)(?![\w.-])", made), (os, image)


@pytest.mark.parametrize("minor", ["1.20", "1.24", "1.30", "1.37"])
def test_every_image_of_kubeadm_is_pulled_by_digest_and_tagged_before_kubeadm_runs(minor: str) -> None:
    images = pins(PATCHES[minor])["artifacts"]["images"]
    made = plan(None, **pins(PATCHES[minor]))
    steps = [each for phase in made.phases for each in phase.steps]
    names = [each.name for each in steps]
    pulled, tagged = dict[str, str](), dict[str, str]()
    for each in steps:
        if each.name.startswith("pull-"):
            pulled[each.name.removeprefix("pull-")] = each.fields["argv"][-1]
        if each.name.startswith("tag-"):
            digest, tag = each.fields["argv"][-2:]
            tagged[tag] = digest
            assert digest == pulled[each.name.removeprefix("tag-")], "pulled before"
            assert each.fields["creates"] == "/var/lib/mullion/joined", "the agent's turn decides later"
            assert names.index(each.name) < min(names.index("kubeadm-init"), names.index("kubeadm-join"))
    assert len(tagged) == 6
    assert tagged == {tag: f"{tag.rpartition(':')[0]}@{digest}" for tag, digest in images.items() if tag in tagged}
    config = content(made, "agent-config")["upgrade"]
    commands = [each.fields["argv"] for each in steps if each.name.startswith(("pull-", "tag-"))]
    for chosen in ("apply", "node"):
        assert config[chosen][: len(commands)] == commands
        assert "kubeadm" in config[chosen][len(commands)][0]


def test_a_stack_without_pins_pulls_nothing_before_kubeadm() -> None:
    assert not [each for phase in plan(None, kubernetes=NEWEST).phases for each in phase.steps if "pull" in each.name]


def test_a_restored_etcd_is_unpacked_by_the_pinned_image() -> None:
    assert one(plan(None, kubernetes=NEWEST, **PINS), "etcd-restored").fields["etcd_image"] == (
        f"registry.k8s.io/etcd@{DIGEST}"
    )
    assert "etcd_image" not in one(plan(None, kubernetes=NEWEST), "etcd-restored").fields


def test_registries_and_tags_of_the_user_count() -> None:
    config = {
        "imageRepository": "registry.example/k8s",
        "etcd": {"local": {"imageRepository": "registry.example/etcd", "imageTag": "3.6.9-0"}},
        "dns": {"imageRepository": "registry.example/dns", "imageTag": "v1.12.0"},
    }
    names = {
        f"registry.example/k8s/kube-apiserver:v{NEWEST}",
        "registry.example/etcd/etcd:3.6.9-0",
        "registry.example/dns/coredns:v1.12.0",
    }
    artifacts = {"images": dict.fromkeys([*names, *IMAGES], DIGEST)}
    options = {"kubeadm": {"config": {"ClusterConfiguration": config}}, "artifacts": artifacts}
    made = plan(None, kubernetes=NEWEST, **options)
    assert targets(made) == {"kube-apiserver", "etcd", "corednsdeployment"}
    found = set(re.findall(r'"image": "(registry[^"]+)@', json.dumps([step.document() for step in made.steps])))
    assert found - set(IMAGES) == names


@pytest.mark.parametrize(
    ("images", "path"),
    [
        ({"registry.k8s.io/pause:3.10": "sha256:77"}, "artifacts.images.registry.k8s.io/pause:3.10"),
        ({"pause": DIGEST}, "artifacts.images.pause"),
        ({"registry.k8s.io/pause": DIGEST}, "artifacts.images.registry.k8s.io/pause"),
        ({f"registry.k8s.io/pause:3.10@{DIGEST}": DIGEST}, f"artifacts.images.registry.k8s.io/pause:3.10@{DIGEST}"),
    ],
)
def test_a_wrong_name_or_digest_is_an_error_at_its_place(images: dict[str, str], path: str) -> None:
    (found,) = [each for each in problems({"artifacts": {"images": images}}) if each.path.startswith("artifacts")]
    assert (found.severity, found.path) == (Severity.ERROR, path)
    assert "sha256:" in found.fix or "registry/path:tag" in found.fix


def test_a_digest_of_an_image_that_nothing_starts_changes_nothing() -> None:
    assert ClusterSpec.model_validate(
        {"cloud": "aws", "kubernetes": NEWEST, "artifacts": {"images": {"registry.example/other:1": DIGEST}}}
    )
    other = plan(None, kubernetes=NEWEST, artifacts={"images": {"registry.example/other:1": DIGEST}})
    assert other.document() == plan(None, kubernetes=NEWEST).document()
