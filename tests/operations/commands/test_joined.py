"""Stacks whose pools join a cluster of somebody else: the file that `mullion join` writes, and refused commands.

tests/lab/joining/test_existing_cluster.py joins a real one.
"""

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from typer.testing import Result

from components.machine import pki
from components.rollout.kubernetes_api import KubernetesApi
from components.rollout.own_kubeconfig import VARIABLE, parse, read
from components.stack_files.stack import CLUSTER
from operations.commands import join, kubeconfig, reached_api, verify
from operations.commands import joined as mullion_joined
from operations.commands.joined import REFUSED
from operations.console.exits import Exit, Stop
from operations.verification.upstream import Suite
from operations.verification.verdicts import Row, Verdict
from tests.certificates import AUTHORITY, OTHER
from tests.components.aws.test_joined import SPEC
from tests.operations.joining.test_judge import GOOD, backend, config

Run = Callable[..., Result]
PLACE = ("--region", "eu-west-1", "--network", "vpc-0123456789abcdef0")
SUBNET = ("--subnet", "subnet-0123456789abcdef1=10.0.8.0/24")
ADDRESSES = [
    {"type": "Hostname", "address": "cp-0"},
    {"type": "InternalIP", "address": "10.0.0.10"},
    {"type": "InternalIP", "address": "fd00::10"},
]


@pytest.fixture
def admin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a kubeconfig of a cluster that is ready for Windows nodes; its API is imitated."""
    authority = pki.certificate_authority("kubernetes")
    pair = pki.administrator_certificate(authority, "other", days=1)
    path = tmp_path / "admin.conf"
    path.write_text(pki.administrator_kubeconfig("other", "https://127.0.0.1:9", "x", authority["certificate"], pair))
    endpoint = {"server": "https://k8s.example.com", "certificate-authority-data": _encoded(AUTHORITY)}
    info = {"cluster-info": {"kubeconfig": yaml.safe_dump({"clusters": [{"cluster": endpoint}]})}}
    node = {**GOOD.nodes[0], "status": {"addresses": ADDRESSES}}
    found = replace(GOOD, config={**config(), **info}, nodes=(node,))
    monkeypatch.setattr(join, "_read", lambda access: found)
    return path


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_join_writes_a_stack_file_that_can_be_planned(admin: Path, clone: Path, mullion: Run) -> None:
    ended = mullion("join", str(admin), "win", *PLACE, *SUBNET, "--windows", "2025")
    assert ended.exit_code == 0, ended.output
    assert f"KUBECONFIG={admin} mullion up win" in ended.stdout
    text = (clone / "stacks" / "Pulumi.win.yaml").read_text("utf-8")
    cluster = yaml.safe_load(text)["config"][CLUSTER]
    assert cluster["existing_cluster"] == {
        "endpoint": "https://k8s.example.com:443",
        "ca": AUTHORITY,
        "nodes": ["10.0.0.10/32"],
    }
    assert cluster["network"]["existing"]["subnets"] == [{"id": "subnet-0123456789abcdef1", "range": "10.0.8.0/24"}]
    assert cluster["pools"] == {"windows": {"os": "windows-2025", "count": 1}}
    planned = mullion("plan", "win")
    assert planned.exit_code == 0, planned.output
    assert "https://k8s.example.com:443 (of an existing cluster)" in planned.stdout
    assert "control-plane" not in planned.stdout


def test_a_larger_cluster_needs_ranges_and_no_file_is_written(
    admin: Path, clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifteen ranges break AWS's quota of rules."""
    found = join._read(None)  # type: ignore[arg-type]
    addresses = [{"type": "InternalIP", "address": f"10.0.0.{each}"} for each in range(9)]
    nodes = tuple({**found.nodes[0], "status": {"addresses": [each]}} for each in addresses)
    monkeypatch.setattr(join, "_read", lambda access: replace(found, nodes=nodes))
    ended = mullion("join", str(admin), "win", *PLACE, *SUBNET)
    assert ended.exit_code == Exit.USAGE
    assert "the cluster has 9 machines: name their subnets, --nodes RANGE" in ended.stderr
    assert not (clone / "stacks" / "Pulumi.win.yaml").exists()
    assert mullion("join", str(admin), "win", *PLACE, *SUBNET, "--nodes", "10.0.0.0/24").exit_code == 0


def test_a_cluster_with_approved_serving_certificates_gets_a_pool_that_requests_them(
    admin: Path, clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = join._read(None)  # type: ignore[arg-type]
    asking = {**found.config, **config(serverTLSBootstrap=True), "cluster-info": found.config["cluster-info"]}
    monkeypatch.setattr(join, "_read", lambda access: replace(found, config=asking))
    ended = mullion("join", str(admin), "win", *PLACE, *SUBNET)
    assert ended.exit_code == 0, ended.output
    document = yaml.safe_load((clone / "stacks" / "Pulumi.win.yaml").read_text("utf-8"))
    kubelet = document["config"][CLUSTER]["pools"]["windows"]["kubelet"]
    assert kubelet == {"config": {"serverTLSBootstrap": True}}


def test_the_ranges_of_the_clusters_machines_can_be_given(admin: Path, clone: Path, mullion: Run) -> None:
    ended = mullion("join", str(admin), "win", *PLACE, *SUBNET, "--nodes", "10.0.0.0/24", "--nodes", "10.0.1.0/24")
    assert ended.exit_code == 0, ended.output
    document = yaml.safe_load((clone / "stacks" / "Pulumi.win.yaml").read_text("utf-8"))
    assert document["config"][CLUSTER]["existing_cluster"]["nodes"] == ["10.0.0.0/24", "10.0.1.0/24"]


def test_the_pool_gets_a_name_that_no_node_has(
    admin: Path, clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = join._read(None)  # type: ignore[arg-type]
    others = tuple({**GOOD.nodes[0], "metadata": {"name": name}} for name in ("windows-7", "windows2-0", "windows3"))
    monkeypatch.setattr(join, "_read", lambda access: replace(found, nodes=(*found.nodes, *others)))
    ended = mullion("join", str(admin), "win", *PLACE, *SUBNET)
    assert ended.exit_code == 0, ended.output
    document = yaml.safe_load((clone / "stacks" / "Pulumi.win.yaml").read_text("utf-8"))
    assert [*document["config"][CLUSTER]["pools"]] == ["windows3"], "a Node windows3 is none of pool windows3"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name the STACK"),
        (("win",), "--network vpc-ID --subnet subnet-ID=RANGE"),
        (("win", *PLACE), "--subnet subnet-ID=RANGE"),
        (("win", *PLACE, "--subnet", "subnet-0123456789abcdef1"), "is not ID=RANGE"),
        (("win", *PLACE, *SUBNET, "--windows", "2016"), "pools.windows.os"),
        (("win", *PLACE, *SUBNET, "--nodes", "10.0.8.0/25"), "existing_cluster.nodes.0"),
        (("win", *PLACE, *SUBNET, "--json"), "--json needs --check"),
    ],
)
def test_what_is_missing_or_wrong_is_named_and_no_file_is_written(
    words: tuple[str, ...], said: str, admin: Path, clone: Path, mullion: Run
) -> None:
    ended = mullion("join", str(admin), *words)
    assert ended.exit_code == Exit.USAGE
    assert said in " ".join(ended.output.split()) + str(ended.exception)
    assert not (clone / "stacks" / "Pulumi.win.yaml").exists()


def test_a_cluster_that_is_not_ready_gets_no_stack_file(
    admin: Path, clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(join, "_read", lambda access: backend(VNI=1)(GOOD))
    ended = mullion("join", str(admin), "win", *PLACE, *SUBNET)
    assert ended.exit_code == Exit.FAILED
    assert f"(flannel); run: mullion join --check {admin}" in ended.stderr
    assert not (clone / "stacks" / "Pulumi.win.yaml").exists()


def test_a_stack_file_is_never_replaced(admin: Path, clone: Path, mullion: Run) -> None:
    path = clone / "stacks" / "Pulumi.win.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("config: {}\n")
    ended = mullion("join", str(admin), "win", *PLACE, *SUBNET)
    assert ended.exit_code == Exit.USAGE
    assert path.read_text("utf-8") == "config: {}\n"


COMMANDS: dict[str, tuple[str, ...]] = {
    "kubeconfig": ("kubeconfig", "win"),
    "upgrade": ("upgrade", "win", "1.37.0"),
    "revoke": ("revoke", "win", "web-0"),
    "replace-control-plane": ("replace-control-plane", "win", "control-plane-0"),
    "snapshot": ("snapshot", "win"),
    "restore": ("restore", "win", "--list"),
    "run": ("run", "win", "--sandbox", "--", "true"),
    "chaos": ("chaos", "win"),
    "image bake": ("image", "bake", "win", "--sandbox"),
    "sandbox boot": ("sandbox", "boot", "win"),
}


@pytest.fixture
def joined(clone: Path) -> Path:
    path = clone / "stacks" / "Pulumi.win.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump({"config": {"aws:region": "eu-west-1", CLUSTER: SPEC}}))
    return path


@pytest.mark.parametrize("command", REFUSED)
def test_a_command_that_does_not_fit_is_refused_with_the_reason(command: str, joined: Path, mullion: Run) -> None:
    ended = mullion(*COMMANDS[command])
    assert ended.exit_code == Exit.REFUSED, ended.output
    assert f"win joins a cluster of somebody else: {REFUSED[command]}" in ended.stderr


def test_a_bootable_build_is_refused_too(joined: Path, mullion: Run) -> None:
    ended = mullion("up", "win", "--sandbox", "--bootable")
    assert ended.exit_code == Exit.REFUSED
    assert REFUSED["sandbox boot"] in ended.stderr


@pytest.mark.parametrize("command", [("sbom", "win"), ("versions", "win"), ("cost", "win"), ("plan", "win")])
def test_documents_about_a_stack_name_only_its_pools(command: tuple[str, ...], joined: Path, mullion: Run) -> None:
    ended = mullion(*command)
    assert ended.exit_code == 0, ended.output
    assert "control-plane" not in ended.stdout
    assert "ubuntu" not in ended.stdout
    assert "etcd" not in ended.stdout


def _of_cluster(joined: Path, admin: Path) -> str:
    """Make the stack's cluster that of the kubeconfig; return its authority."""
    ca = read(admin).ca_certificate
    spec = {**SPEC, "existing_cluster": {**SPEC["existing_cluster"], "ca": ca}}
    joined.write_text(yaml.safe_dump({"config": {"aws:region": "eu-west-1", CLUSTER: spec}}))
    return ca


def test_commands_on_the_cluster_use_the_users_kubeconfig(
    admin: Path, joined: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: Any = None
    ca = _of_cluster(joined, admin)
    # a bundle of authorities, and another context: the stack's authority and the current context alone are used
    document = yaml.safe_load(admin.read_text("utf-8"))
    document["clusters"][0]["cluster"]["certificate-authority-data"] = _encoded(OTHER + ca)
    document["clusters"].insert(0, {"name": "prod", "cluster": {"server": "https://prod.example.com"}})
    admin.write_text(yaml.safe_dump(document))
    monkeypatch.setenv(VARIABLE, str(admin))
    text = kubeconfig.current("win", "", run)
    assert parse(text, "") == replace(read(admin), ca_certificate=ca)
    assert "prod.example.com" not in text
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(Stop, match=f"Set {VARIABLE} to its administrator's kubeconfig"):
        kubeconfig.current("win", "", run)


@pytest.mark.parametrize("own", [False, True])
def test_a_kubeconfig_of_another_cluster_is_refused_before_any_call(
    own: bool, admin: Path, joined: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: Any = None
    monkeypatch.setenv(VARIABLE, "" if own else str(admin))
    monkeypatch.setattr(KubernetesApi, "_exchange", None)
    with pytest.raises(Stop, match=r"win joins the cluster at https://k8s.example.com:8443, and .* Nothing was called"):
        reached_api.administrator("win", admin).__enter__() if own else kubeconfig.current("win", "", run)


def test_a_token_of_a_service_account_is_accepted_and_a_plugin_is_not(
    admin: Path, joined: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ca, document = _of_cluster(joined, admin), yaml.safe_load(admin.read_text("utf-8"))
    document["users"][0]["user"] = {"token": "signed.by.cluster"}
    admin.write_text(yaml.safe_dump(document))
    found = parse(mullion_joined.kubeconfig("win", admin), "")
    assert (found.token, found.administrator, found.ca_certificate) == ("signed.by.cluster", None, ca)
    assert "signed" not in repr(found)
    document["users"][0]["user"] = {"exec": {"command": "kubelogin"}}
    admin.write_text(yaml.safe_dump(document))
    with pytest.raises(Stop, match=r"signs in by a plug-in, which Mullion does not run.*kubectl create token"):
        mullion_joined.kubeconfig("win", admin)


def test_the_suite_of_kubernetes_leaves_no_keys_in_a_file(
    admin: Path, joined: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path] = []

    def suite(_: Any, own: Path, nodes: Any, report: Path) -> Row:
        assert parse(own.read_text("utf-8"), "").url == "https://127.0.0.1:9"
        assert own.stat().st_mode & 0o777 == 0o600
        seen.append(own)
        return Row("SMK-15", "", "", Verdict.PASSED)

    _of_cluster(joined, admin)
    monkeypatch.setattr(verify, "_rows", lambda *_, **__: [])
    monkeypatch.setattr(verify.upstream, "run", suite)
    monkeypatch.setattr(verify, "Cluster", lambda *_: SimpleNamespace(nodes=list))
    text, request = mullion_joined.kubeconfig("win", admin), cast(Any, None)
    verify._all_rows("win", text, request, Suite(Path("e2e.test")), reboot=False)
    assert [each.exists() for each in seen] == [False]
