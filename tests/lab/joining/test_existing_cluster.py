"""The real kubelet.exe joins a cluster that kubeadm made, by a stack file that `mullion join` wrote.

The control plane's programs are real, and so are kubeadm's rules, tokens and ConfigMaps. Nothing of it is Mullion's but
the rights that `mullion join --check` prints, and the bootstrap token that `mullion up` creates.
"""

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml
from typer.testing import CliRunner

from components.rollout.bootstrap_tokens import GROUP, LIFE, NEW_AFTER
from components.rollout.own_kubeconfig import VARIABLE
from components.stack_files.stack import CLUSTER, read_stack
from lab import windows
from lab.linuxnode import network
from lab.linuxnode.image import lacking
from operations.__main__ import app
from operations.engine.locate import Engine
from operations.stacks import boot_site
from sandbox import existing_network
from sandbox.boot import mirror
from sandbox.boot.network_namespaces import within
from sandbox.boot.windows.kubelet_links import links
from sandbox.boot.windows.server import CURRENT, PKI, no_runtime
from sandbox.records import Record
from tests.boot_to_ready.lab import STACK, Lab, lab_in, lab_network
from tests.boot_to_ready.windows import Server, server
from tests.clones import work_in
from tests.lab.conftest import WINPWSH, Find
from tests.lab.joining.conftest import POOL, ROUTER, SPEC, programs_of
from tests.lab.joining.foreign import FOUNDER, Foreign, merged
from tests.lab.joining.test_rights import node_request

pytestmark = [pytest.mark.lab, pytest.mark.engine]

ADDRESS, HOST = "10.20.200.10", "kubernetes.example.com"
VPC, SUBNET, RANGE = "vpc-0123456789abcdef0", "subnet-0123456789abcdef1", "10.20.8.0/22"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
SECRETS = "/api/v1/namespaces/kube-system/secrets"


@dataclass
class JoinedPool:
    """The foreign cluster, the stack's cloud, and its machine, whose plan has run."""

    lab: Lab
    foreign: Foreign
    worker: Server
    record: Record
    kubernetes: str
    folder: Path
    stack_file: Path

    @property
    def node(self) -> dict[str, Any]:
        return self.foreign.call("GET", f"/api/v1/nodes/{self.worker.name}")

    @property
    def token(self) -> str:
        """Return the text of the secret from which the machine got its token."""
        return self.lab.secret("join_secret", self.record)


@pytest.fixture(scope="module")
def joined(
    kubernetes: str,
    program: Find,
    missing: Callable[[str, str], NoReturn],
    engine: Engine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[JoinedPool]:
    if why := lacking():
        missing("linuxnode", why)
    if not WINPWSH:
        missing("winpwsh", "set MULLION_WINPWSH to the program that makes Windows machines")
    folder = tmp_path_factory.mktemp("foreign")
    programs = programs_of(kubernetes, program, missing)
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        net = stack.enter_context(lab_network("own"))
        network.add(net, "linux-0", ADDRESS)
        (folder / "control-plane").mkdir()
        foreign = Foreign(programs, kubernetes, folder / "control-plane", f"{net}-linux-0", ADDRESS, HOST, {})
        stack.callback(foreign.stop)
        foreign.begin()
        kubeconfig, url = foreign.kubeconfig(folder)
        patch.setenv(VARIABLE, str(kubeconfig))
        patch.setattr(boot_site, "api", lambda name: url)  # its machines run, so the program calls the API
        written = _written(folder, kubeconfig, kubernetes)
        text = _with_lab(written, folder, kubernetes)
        served = within(net, lambda: mirror.server(ROUTER, [folder]))
        threading.Thread(target=served.serve_forever, daemon=True).start()
        stack.callback(served.server_close)
        stack.callback(served.shutdown)
        spec = read_stack(STACK, yaml.safe_load(text)["config"])
        cloud = stack.enter_context(
            lab_in(net, folder / "clone", text, lambda cloud: existing_network.create(cloud, spec.spec, spec.region))
        )
        record = cloud.machine(POOL)
        space = cloud.join(record)
        stack.enter_context(no_runtime(programs["crinotready"], space))
        machine = stack.enter_context(server(WINPWSH, cloud, record, space, folder / "worker", "v2"))
        with links(machine):
            machine.power_on()
        yield JoinedPool(cloud, foreign, machine, record, kubernetes, folder, written)


def _written(folder: Path, kubeconfig: Path, kubernetes: str) -> Path:
    """Return the stack file that `mullion join` writes."""
    with pytest.MonkeyPatch.context() as patch:
        work_in(folder / "joining", patch)
        words = ["join", str(kubeconfig), STACK, "--kubernetes", kubernetes, "--region", "eu-west-1"]
        words += ["--network", VPC, "--subnet", f"{SUBNET}={RANGE}", "--windows", "2019"]
        ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    return folder / "joining" / "stacks" / f"Pulumi.{STACK}.yaml"


def _with_lab(written: Path, folder: Path, kubernetes: str) -> str:
    """Return the stack file with the lab's programs, and with the pool of the lab."""
    entries = windows.pack(kubernetes, folder / mirror.DOWNLOADS)
    (folder / "artifacts.json").write_text(json.dumps(entries), encoding="ascii")
    artifacts = {"file": str(folder / "artifacts.json"), "mirror": f"http://{ROUTER}:{mirror.PORT}"}
    more = {
        "pools": SPEC["pools"],
        "artifacts": artifacts,
        "acknowledge": {"download-replaced": "built from their Go modules"},
    }
    return yaml.safe_dump(merged(written, more))


def test_the_stack_file_has_the_clusters_own_values_and_no_secret(joined: JoinedPool) -> None:
    text = joined.stack_file.read_text("utf-8")
    cluster = yaml.safe_load(text)["config"][CLUSTER]
    assert cluster["existing_cluster"] == {
        "endpoint": f"https://{ADDRESS}:6443",
        "ca": joined.foreign.secrets["ca.crt"],
        "nodes": [f"{ADDRESS}/32"],
    }
    assert cluster["kubernetes"] == joined.kubernetes
    assert cluster["network"]["pods"] == "10.244.0.0/16"
    assert (cluster["network"]["dns"], cluster["network"]["vni"]) == ("10.96.0.10", 4096)
    assert "PRIVATE KEY" not in text
    assert "client-key-data" not in text


def test_the_node_registers_as_planned(joined: JoinedPool) -> None:
    record = joined.lab.record(joined.record)
    assert record["state"] == "registered", (record, joined.worker.log()[-3000:])
    node = joined.node
    labels = node["metadata"]["labels"]
    wanted = {
        "kubernetes.io/os": "windows",
        "node.kubernetes.io/windows-build": "10.0.17763",
        "mullion.dev/pool": POOL,
        "team": "billing",
    }
    assert {name: labels.get(name) for name in wanted} == wanted
    taints = {f"{each['key']}={each.get('value', '')}:{each['effect']}" for each in node["spec"]["taints"]}
    assert set(SPEC["pools"][POOL]["taints"]) <= taints
    assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{joined.kubernetes}"
    assert node["spec"]["providerID"] == f"aws:///{joined.record.outputs['availabilityZone']}/{joined.record.id}"


def test_kube_controller_manager_approved_the_request_that_the_token_made(joined: JoinedPool) -> None:
    found = joined.foreign.call("GET", REQUESTS)["items"]
    of_machine = [each for each in found if each["spec"]["username"] == f"system:bootstrap:{joined.token[:6]}"]
    assert of_machine
    for each in of_machine:
        assert GROUP in each["spec"]["groups"]
        assert each["spec"]["signerName"] == "kubernetes.io/kube-apiserver-client-kubelet"
        assert [(each["type"], each["reason"]) for each in each["status"]["conditions"]] == [
            ("Approved", "AutoApproved")
        ]
    assert not joined.worker.path(r"C:\k\bootstrap-kubelet.conf").exists(), "the token is deleted after it was used"
    assert "PRIVATE KEY" in (joined.worker.path(PKI) / CURRENT).read_text()


def test_no_certificate_for_serving_is_requested_because_nobody_approves_it(joined: JoinedPool) -> None:
    signers = {each["spec"]["signerName"] for each in joined.foreign.call("GET", REQUESTS)["items"]}
    assert "kubernetes.io/kubelet-serving" not in signers


def test_the_token_ends_within_its_life_and_is_kubeadms(joined: JoinedPool) -> None:
    secret = joined.foreign.call("GET", f"{SECRETS}/bootstrap-token-{joined.token[:6]}")
    data = {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}
    assert f"{data['token-id']}.{data['token-secret']}" == joined.token
    left = datetime.fromisoformat(data["expiration"].replace("Z", "+00:00")) - datetime.now(timezone.utc)
    assert NEW_AFTER < left <= LIFE
    assert timedelta(0) < left
    assert data["auth-extra-groups"] == GROUP
    assert "usage-bootstrap-signing" not in data, "it signs no cluster-info"


def test_whoever_has_the_token_becomes_any_node_as_the_page_says(joined: JoinedPool) -> None:
    """docs/existing-cluster.md, "Who can become a node": kubeadm's rules, which Mullion's own clusters replace."""
    request = node_request("stolen", f"system:node:{FOUNDER}", "system:nodes")
    assert joined.foreign.by_token(joined.token, REQUESTS, request) == 201
    joined.foreign.until(
        lambda: joined.foreign.call("GET", f"{REQUESTS}/stolen")["status"].get("certificate"), "it is signed"
    )
    assert joined.foreign.by_token(joined.token, SECRETS) == 403, "the token itself reads nothing"


def test_the_token_is_in_no_file_in_clear(joined: JoinedPool) -> None:
    """User-data, the Pulumi state, the engine's files, the machine's files and the bundle store."""
    secret = joined.token.partition(".")[2].encode()
    assert secret not in json.dumps(joined.record.inputs).encode()
    state = joined.folder / "clone" / ".mullion" / STACK
    # not the sandbox's databases: whoever closes such a file in this process drops SQLite's locks
    files = [each for each in state.rglob("*") if each.is_file() and ".db" not in each.name]
    assert files
    assert [each for each in files if secret in each.read_bytes()] == []
    objects = joined.lab.cloud_state.objects(joined.lab.bucket)
    assert [key for key, stored in objects.items() if secret in stored.content] == []
    logs = [*joined.worker.path(r"C:\ProgramData\mullion").rglob("*"), *joined.worker.path(r"C:\var\log").rglob("*")]
    logs += [*joined.worker.path(r"C:\k").rglob("*.conf"), *joined.worker.path(r"C:\k").rglob("*.json")]
    assert [each for each in logs if each.is_file() and secret in each.read_bytes()] == []


def test_a_removed_machine_is_drained_and_its_node_deleted(joined: JoinedPool) -> None:
    """Last: the hook calls the cluster's API by the user's kubeconfig."""
    name = joined.worker.name
    with pytest.MonkeyPatch.context() as patch:
        work_in(joined.folder / "clone", patch)
        file = joined.folder / "clone" / "stacks" / f"Pulumi.{STACK}.yaml"
        file.write_text(re.sub(r"count: 1", "count: 0", file.read_text("utf-8")))
        ran = CliRunner().invoke(app, ["up", STACK, "--sandbox", "--yes"])
    assert ran.exit_code == 0, ran.output
    assert joined.foreign.get(f"/api/v1/nodes/{name}") is None
    assert joined.foreign.get(f"/api/v1/nodes/{FOUNDER}")
