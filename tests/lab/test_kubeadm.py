"""kubeadm accepts all rendered documents, in all versions of its API."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from components import releases
from components.node import images
from components.node.role import role
from components.spec.models import ClusterSpec
from tests.lab.conftest import Find
from tests.lab.judge import Judgement, run
from tests.lab.real import Real
from tests.lab.rendered import SAMPLES, VALUES, Rendered, Variant, filled, of_fields, of_variant, write
from tests.lab.test_tables import on_any_machine

pytestmark = pytest.mark.lab

DISCOVERY = "kubeConfigPath"
"""The path that kubeadm checks while it reads its configuration."""

Judge = Callable[..., Judgement]


@pytest.fixture
def judge(kubernetes: str, program: Find, tmp_path: Path) -> Judge:
    """Return `judge(document, ...)`: kubeadm's output for these documents in one file."""
    kubeadm = program("kubeadm", "linux")
    (tmp_path / "discovery.conf").write_text("{}")
    validate = "validate" in run([kubeadm, "config", "--help"], tmp_path).text  # from 1.26 on

    def said(*documents: Any) -> Judgement:
        file = write(tmp_path, "kubeadm.yaml", *(_here(each, tmp_path) for each in documents))
        command = ["validate", "--config"] if validate else ["migrate", "--old-config"]
        return run([kubeadm, "config", *command, file], tmp_path)

    return said


def _here(document: Any, folder: Path) -> Any:
    if isinstance(document, dict):
        moved = {key: _here(value, folder) for key, value in document.items()}
        return {**moved, DISCOVERY: str(folder / "discovery.conf")} if DISCOVERY in moved else moved
    return document


def _documents(rendered: tuple[Rendered, ...]) -> dict[str, list[Any]]:
    """Return the documents of one run of kubeadm, by machine and command."""
    documents: dict[str, list[Any]] = {}
    for machine in rendered:
        if machine.pool == "windows":
            continue
        documents[f"{machine.name} join"] = [filled(machine.fields("kubeadm-join")["input"])]
        if machine.pool == "control-plane":
            documents[f"{machine.name} init"] = machine.content("init-config")
    return documents


def _objections(said: Judgement) -> list[str]:
    return said.objections + ([said.text[-500:]] if said.code else [])


def test_every_document_is_accepted(kubernetes: str, judge: Judge, rendered: tuple[Rendered, ...]) -> None:
    """CP-01, CP-03: init and join of each machine, with kube-proxy's document and without unknown fields."""
    inputs = _documents(rendered)
    assert {name.partition("-")[0] for name in inputs} >= {"defaults", "everything"}
    assert {name: said for name, each in inputs.items() if (said := _objections(judge(*each)))} == {}
    api = {each["apiVersion"] for documents in inputs.values() for each in documents if "kubeadm" in each["apiVersion"]}
    assert api == {releases.release(kubernetes).kubeadm_api}


def test_every_field_of_the_table_is_accepted(kubernetes: str, judge: Judge) -> None:
    api = releases.release(kubernetes).kubeadm_api
    for kind in ("ClusterConfiguration", "InitConfiguration", "JoinConfiguration"):
        judgement = judge(of_fields(api, kind, releases.fields(kind, kubernetes)))
        assert judgement.unknown() == set(), kind
        assert not re.findall(r".*cannot unmarshal.*", judgement.text), f"{kind}: {judgement.text[-800:]}"


def test_every_field_missing_in_the_table_is_refused(kubernetes: str, judge: Judge) -> None:
    api = releases.release(kubernetes).kubeadm_api
    for kind in ("ClusterConfiguration", "InitConfiguration", "JoinConfiguration"):
        table = releases.fields(kind, kubernetes)
        ever = {name for each in releases.supported_minors() for name in releases.top_fields(kind, each)}
        for absent in sorted(ever - table.keys()):
            judgement = judge({"apiVersion": api, "kind": kind, absent: SAMPLES["bool"]})
            assert absent in judgement.unknown() or f'unknown field "{absent}"' in judgement.text, (
                f"{kind} {absent}: {judgement.text}"
            )


DryRun = Callable[..., Judgement]

WRITES_TO = "KUBEADM_INIT_DRYRUN_DIR"
"""Folder of a dry run, instead of /etc/kubernetes and /var/lib/kubelet."""


@pytest.fixture
def dry_run(program: Find, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DryRun:
    """Return `dry_run(machine, phase...)`: files of `kubeadm init phase` on a control-plane machine."""
    monkeypatch.setenv(WRITES_TO, str(tmp_path / "written"))
    for name in ("written", "patches"):
        (tmp_path / name).mkdir()
    (tmp_path / "discovery.conf").write_text("{}")

    def run_phase(machine: Rendered, *phase: str) -> Judgement:
        init, *others = (_here(each, tmp_path) for each in machine.content("init-config"))
        if "patches" in init:
            init["patches"] = {"directory": str(tmp_path / "patches")}
        if machine.has("kubelet-patch"):
            file = Path(machine.fields("kubelet-patch")["path"]).name
            write(tmp_path / "patches", file, machine.content("kubelet-patch"))
        config = write(tmp_path, "init.yaml", init, *others)
        command = [program("kubeadm", "linux"), "init", "phase", *phase, "--config", config, "--dry-run"]
        judgement = run(command, tmp_path)
        if "unknown flag: --dry-run" in judgement.text:
            pytest.skip("kubeadm of this version has no dry run of this phase")
        return judgement

    return run_phase


def _planes(rendered: tuple[Rendered, ...]) -> list[Rendered]:
    return [each for each in rendered if each.pool == "control-plane"]


def _written(folder: Path, name: str) -> Any:
    (path,) = (folder / "written").rglob(name)
    return yaml.safe_load(path.read_text())


def test_the_static_pods_have_every_planned_argument_and_volume(
    rendered: tuple[Rendered, ...], dry_run: DryRun, tmp_path: Path
) -> None:
    plane = next(each for each in _planes(rendered) if each.variant == "everything")
    judgement = dry_run(plane, "control-plane", "all")
    assert judgement.code == 0, judgement.text
    cluster = next(each for each in plane.content("init-config") if each["kind"] == "ClusterConfiguration")
    for part, name in {"apiServer": "apiserver", "controllerManager": "controller-manager"}.items():
        pod = _written(tmp_path, f"kube-{name}.yaml")
        ours = cluster[part]["extraArgs"]  # a list from v1beta4 on, a map before
        wanted = {each["name"]: each["value"] for each in ours} if isinstance(ours, list) else ours
        assert wanted
        assert {f"--{key}={value}" for key, value in wanted.items()} <= set(pod["spec"]["containers"][0]["command"])
        volumes = {each["hostPath"] for each in cluster[part].get("extraVolumes", [])}
        assert volumes <= {each["hostPath"]["path"] for each in pod["spec"]["volumes"]}


def test_the_public_issuer_stays_the_first_so_it_signs(
    rendered: tuple[Rendered, ...], dry_run: DryRun, tmp_path: Path
) -> None:
    """kubeadm used to sort a flag that is given twice by its values (kubernetes/kubeadm#3261)."""
    plane = next((each for each in _planes(rendered) if each.variant == "pods"), None)
    if plane is None:
        pytest.skip("a check refuses pod_identity for this version")
    judgement = dry_run(plane, "control-plane", "apiserver")
    assert judgement.code == 0, judgement.text
    command = _written(tmp_path, "kube-apiserver.yaml")["spec"]["containers"][0]["command"]
    issuers = [each.partition("=")[2] for each in command if each.startswith("--service-account-issuer=")]
    assert issuers == [VALUES["node.issuer"], "https://kubernetes.default.svc.cluster.local"]


def test_the_kubelet_accepts_its_configuration_after_kubeadm_applied_our_patch(
    kubernetes: str, rendered: tuple[Rendered, ...], dry_run: DryRun, program: Find, tmp_path: Path
) -> None:
    kubelet = Real("kubelet", "linux", program("kubelet", "linux"), tmp_path)
    plane = next(each for each in _planes(rendered) if each.variant == "everything")
    if not plane.has("kubelet-patch"):
        pytest.skip("kubeadm of this version accepts no patch for the kubelet, whose whole file is planned")
    judgement = dry_run(plane, "kubelet-start")
    assert judgement.code == 0, judgement.text
    whole, patch = _written(tmp_path, "config.yaml"), plane.content("kubelet-patch")
    assert {key: whole[key] for key in patch} == patch, "every planned field wins over kubeadm's own"
    extra = on_any_machine(kubernetes, kubelet)
    judgement = kubelet.read({**extra, **whole}, plane.command("kubelet", "kubelet"))
    assert kubelet.objections(judgement) == []


DIGEST = f"sha256:{'7' * 64}"


def _pinned(kubernetes: str) -> Rendered:
    names = (*releases.control_plane_images(kubernetes), releases.pause_image(kubernetes, "ubuntu-24.04"))
    variant = Variant("pinned", {"artifacts": {"images": dict.fromkeys(names, DIGEST)}}, {})
    return next(each for each in of_variant(kubernetes, variant) if each.pool == "control-plane")


def test_kubeadm_names_the_images_that_are_pinned(
    kubernetes: str, program: Find, rendered: tuple[Rendered, ...], tmp_path: Path
) -> None:
    """The digests are found by these names, with the registry of the user in the variant `everything`."""
    for plane in _planes(rendered):
        documents = plane.content("init-config")
        config = write(tmp_path, f"{plane.variant}.yaml", *(_here(each, tmp_path) for each in documents))
        listed = run([program("kubeadm", "linux"), "config", "images", "list", "--config", config], tmp_path)
        names = {line for line in listed.text.splitlines() if re.fullmatch(r"[\w./-]+:[\w.-]+", line)}
        spec = ClusterSpec.model_validate({"cloud": "aws", "kubernetes": kubernetes})
        wanted = images.by_container(role("dev", spec, None), documents[1])
        assert {each for each in names if "/pause:" not in each} == set(wanted.values()), plane.variant


def test_kubeadm_starts_every_image_by_its_digest(kubernetes: str, dry_run: DryRun, tmp_path: Path) -> None:
    plane = _pinned(kubernetes)
    patches = [each for each in plane.plan.steps if each.name.startswith("image-")]
    if not patches:
        pytest.skip("kubeadm of this version takes no patches from a file of configuration")
    for each in patches:
        write(tmp_path / "patches", Path(each.fields["path"]).name, each.fields["content"])
    found: dict[str, str] = {}
    for phase in (("control-plane", "all"), ("etcd", "local")):
        judgement = dry_run(plane, *phase)
        assert judgement.code == 0, judgement.text
    for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"):
        found[name] = _written(tmp_path, f"{name}.yaml")["spec"]["containers"][0]["image"]
    assert all(image.endswith(f"@{DIGEST}") for image in found.values()), found
    by_tag = {image.partition("@")[0] for image in found.values()}
    assert by_tag <= set(releases.control_plane_images(kubernetes))


def test_kubeadm_deploys_dns_and_kube_proxy_by_digest(kubernetes: str, program: Find, tmp_path: Path) -> None:
    plane = _pinned(kubernetes)
    wanted = {"corednsdeployment": "coredns", "kubeproxydaemonset": "kube-proxy"}
    steps = {each.name.removeprefix("image-"): each for each in plane.plan.steps}
    (tmp_path / "patches").mkdir()
    (tmp_path / "discovery.conf").write_text("{}")
    init, *others = (_here(each, tmp_path) for each in plane.content("init-config"))
    init["patches"] = {"directory": str(tmp_path / "patches")}
    config = write(tmp_path, "init.yaml", init, *others)
    known = wanted.keys() & steps.keys()
    if not known:
        pytest.skip("kubeadm of this version has no patches of its add-ons")
    for target in known:
        step = steps[target]
        write(tmp_path / "patches", Path(step.fields["path"]).name, step.fields["content"])
        phase = [program("kubeadm", "linux"), "init", "phase", "addon", wanted[target], "--config", config]
        judgement = run([*phase, "--print-manifest"], tmp_path)
        assert re.search(rf"image: \S+/{wanted[target]}:\S+@{DIGEST}\n", judgement.text), judgement.text[-1500:]
