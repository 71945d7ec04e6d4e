"""How a Windows machine becomes a node: runtime, way in, and what must be true in the end."""

import pytest

from components import releases
from components.node.kinds import ref
from components.node.plan import NodePlan
from tools.golden.samples import KUBERNETES, content, one, phase, plan, position, text


def test_run_09_the_pause_image_is_pulled_and_compared_with_the_build() -> None:
    for runtime, client in (("containerd", r"C:\k\crictl.exe"), ("docker", r"C:\Program Files\docker\docker.exe")):
        made = plan("windows-2019", {"runtime": runtime}, kubernetes="1.23.17")
        pause = one(made, "pause-image").fields
        assert (pause["image"], pause["program"]) == (releases.pause_image("1.23.17", "windows-2019"), client)
        assert position(made, "pause-image") > position(made, runtime)


def test_the_token_is_asked_for_without_a_certificate_only_and_is_gone_once_there_is_one(windows: NodePlan) -> None:
    order = ["cluster-ca", "endpoint", "api-version", "bootstrap", "kubelet", "node-certificate", "joined"]
    assert [position(windows, each) for each in order] == sorted(position(windows, each) for each in order)
    assert one(windows, "bootstrap").document() | {"name": "", "retries": 0} == one(windows, "joined").document() | {
        "name": "",
        "retries": 0,
    }, "the same step takes the file away"
    assert "node.bootstrap_token" not in text(windows), "else every boot would read the secret"
    assert one(windows, "api-version").fields["version"] == KUBERNETES, "no kubelet is newer than its API"


def test_ops_01_registered_means_that_each_service_runs_or_says_its_own_number(windows: NodePlan) -> None:
    waits = [each.fields for each in phase(windows, "registered") if each.kind == "wait"]
    assert {each["condition"]["service"]: each["error"] for each in waits if "service" in each["condition"]} == {
        "containerd": "runtime-down",
        "kubelet": "kubelet-down",
        "flanneld": "flanneld-down",
        "kube-proxy": "proxy-down",
    }
    node = one(windows, "node-registered").fields
    assert node["labels"] == {"node.kubernetes.io/windows-build": "10.0.17763", "mullion.dev/pool": "pool"}
    assert (node["kubelet"], node["provider_id"]) == (f"v{KUBERNETES}", ref("node.provider_id"))


@pytest.mark.parametrize(("gate", "last"), [("ready", "ready"), ("registered", "registered")])
def test_a_plan_ends_with_what_the_pools_gate_asks_for(gate: str, last: str) -> None:
    made = plan("windows-2019", {"rollout": {"gate": gate}})
    assert made.phases[-1].name == last
    assert [each.reports for each in made.phases if each.name == "registered"] == ["registered"]


@pytest.mark.parametrize("os", ["windows-2019", "ubuntu-24.04"])
def test_the_credential_provider_of_a_registry_is_pinned_and_the_kubelet_told(os: str) -> None:
    made = plan(os, registry_credentials=["ecr"])
    program = one(made, "download-ecr-credential-provider").fields
    config = one(made, "credential-providers").fields
    [provider] = config["content"]["providers"]
    assert provider["name"] == program["path"].replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
    command = one(made, "kubelet").fields["command"]
    assert f"--image-credential-provider-config={config['path']}" in command
    assert "credential" not in text(plan(os))


def test_run_05_docker_is_a_service_with_folders_of_its_own_and_no_network_of_its_own() -> None:
    made = plan("windows-2019", {"runtime": "docker"}, kubernetes="1.23.17")
    assert content(made, "docker-config")["bridge"] == "none", "NET-02"
    folder = next(each for each in made.steps if each.fields.get("path") == r"C:\ProgramData\docker")
    assert folder.fields["access"] == "private"
    assert "DockerMsftProvider" not in text(made)
    command = one(made, "kubelet").fields["command"]
    assert "--network-plugin=cni" in command
    assert one(made, "kubelet").fields["depends"] == ["docker"]
