"""Joining of a Windows machine: pause image, bootstrap token, and the conditions that end its plan."""

import pytest

from components import releases
from components.node.kinds import ref
from components.node.plan import NodePlan
from tools.golden.samples import KUBERNETES, content, one, phase, plan, position, text


def test_run_09_the_pause_image_is_pulled_and_compared_with_the_build() -> None:
    for runtime, client in (("containerd", r"C:\k\crictl.exe"), ("docker", r"C:\Program Files\docker\docker.exe")):
        node_plan = plan("windows-2019", {"runtime": runtime}, kubernetes="1.23.17")
        pause = one(node_plan, "pause-image").fields
        assert (pause["image"], pause["program"]) == (releases.pause_image("1.23.17", "windows-2019"), client)
        assert position(node_plan, "pause-image") > position(node_plan, runtime)


def test_the_images_of_a_pool_are_pulled_after_the_pause_image_and_before_the_kubelet() -> None:
    base, web = "mcr.microsoft.com/windows/servercore:ltsc2019", "example.com/web:1"
    digest = f"sha256:{'a' * 64}"
    for runtime, client in (("containerd", "crictl"), ("docker", "docker")):
        chosen = {"runtime": runtime, "pre_pull": [base, web]}
        node_plan = plan("windows-2019", chosen, kubernetes="1.23.17", artifacts={"images": {web: digest}})
        first, second = (one(node_plan, name).fields for name in ("image-1", "image-2"))
        assert (first["image"], second["image"]) == (base, f"{web}@{digest}")
        assert {first["client"], second["client"]} == {client}
        places = [position(node_plan, name) for name in ("pause-image", "image-1", "image-2", "kubelet")]
        assert places == sorted(places)
        (phase,) = (each for each in node_plan.phases if "image-1" in [step.name for step in each.steps])
        assert phase.scope.value == "image", "a baked image contains them"


def test_the_bootstrap_token_is_read_before_the_certificate_exists_and_deleted_after(windows: NodePlan) -> None:
    order = ["cluster-ca", "endpoint", "api-version", "bootstrap", "kubelet", "node-certificate", "joined"]
    assert [position(windows, each) for each in order] == sorted(position(windows, each) for each in order)
    assert one(windows, "bootstrap").document() | {"name": "", "retries": 0} == one(windows, "joined").document() | {
        "name": "",
        "retries": 0,
    }, "the same step takes the file away"
    assert "node.bootstrap_token" not in text(windows), "else every boot would read the secret"
    assert one(windows, "api-version").fields["version"] == KUBERNETES, "no kubelet is newer than its API"


def test_ops_01_phase_registered_waits_for_each_service_with_its_own_error(windows: NodePlan) -> None:
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
def test_the_last_phase_waits_for_the_state_of_the_pools_gate(gate: str, last: str) -> None:
    node_plan = plan("windows-2019", {"rollout": {"gate": gate}})
    assert node_plan.phases[-1].name == last
    assert [each.reports for each in node_plan.phases if each.name == "registered"] == ["registered"]


@pytest.mark.parametrize(("gate", "last"), [("ready", "ready"), ("registered", "verify")])
def test_a_linux_worker_waits_for_its_node_unless_the_gate_is_registered(gate: str, last: str) -> None:
    node_plan = plan("ubuntu-24.04", {"rollout": {"gate": gate}})
    assert [each.name for each in node_plan.phases if each.name != "evidence"][-1] == last
    changed = plan("ubuntu-24.04", {"rollout": {"gate": "ready" if gate == "registered" else "registered"}})
    assert node_plan.replace_digest == changed.replace_digest, "no machine is replaced for it"


PROVIDERS = {"ecr": "ecr-credential-provider", "acr": "azure-acr-credential-provider", "gar": "auth-provider-gcp"}


@pytest.mark.parametrize("registry", PROVIDERS)
@pytest.mark.parametrize("os", ["windows-2019", "ubuntu-24.04"])
def test_a_credential_provider_is_pinned_and_in_the_kubelets_flags(os: str, registry: str) -> None:
    node_plan = plan(os, registry_credentials=[registry])
    program = one(node_plan, f"download-{PROVIDERS[registry]}").fields
    config = one(node_plan, "credential-providers").fields
    [provider] = config["content"]["providers"]
    # kubelets before 1.30 take no other name than the file's (pkg/credentialprovider/plugin/plugin.go, os.Stat)
    assert provider["name"] == program["path"].replace("\\", "/").rpartition("/")[2]
    command = one(node_plan, "kubelet").fields["command"]
    assert f"--image-credential-provider-config={config['path']}" in command
    assert "credential" not in text(plan(os))


@pytest.mark.parametrize("os", ["windows-2019", "ubuntu-24.04"])
def test_azures_provider_reads_the_identity_from_a_file_that_each_machine_writes(os: str) -> None:
    node_plan = plan(os, registry_credentials=["acr"])
    config, named = one(node_plan, "credential-providers").fields, one(node_plan, "registry-identity").fields
    [provider] = config["content"]["providers"]
    assert provider["args"] == [named["path"]]
    assert named["content"]["userAssignedIdentityID"] == ref("facts.registry_identity")
    (phase_of,) = (each for each in node_plan.phases if "registry-identity" in [step.name for step in each.steps])
    assert phase_of.scope.value == "node", "an image that others boot too has no identity"
    assert position(node_plan, "registry-identity") < position(node_plan, "kubelet")


def test_googles_provider_asks_the_metadata_service_without_the_proxy() -> None:
    """It asks for metadata.google.internal. with a last dot, for which the name without it is another one."""
    proxy = {"http": "http://proxy.example:3128", "no_proxy": ["intern.example"]}
    alone, behind = (
        content(plan("ubuntu-24.04", registry_credentials=["gar"], **more), "credential-providers")["providers"][0]
        for more in ({}, {"proxy": proxy})
    )
    assert "env" not in alone
    [variable] = behind["env"]
    hosts = variable["value"].split(",")
    assert variable["name"] == "NO_PROXY" and {"metadata.google.internal.", "intern.example"} <= set(hosts)


def test_googles_token_is_offered_to_googles_registries_only() -> None:
    """The provider answers with the machine's token for the registry of any image that it is asked about."""
    patterns = content(plan("ubuntu-24.04", registry_credentials=["gar"]), "credential-providers")["providers"][0]
    assert {".".join(each.split(".")[-2:]) for each in patterns["matchImages"]} == {"gcr.io", "pkg.dev"}


def test_run_05_docker_is_a_service_with_private_folders_and_without_a_bridge() -> None:
    node_plan = plan("windows-2019", {"runtime": "docker"}, kubernetes="1.23.17")
    assert content(node_plan, "docker-config")["bridge"] == "none", "NET-02"
    folder = next(each for each in node_plan.steps if each.fields.get("path") == r"C:\ProgramData\docker")
    assert folder.fields["access"] == "private"
    assert "DockerMsftProvider" not in text(node_plan)
    command = one(node_plan, "kubelet").fields["command"]
    assert "--network-plugin=cni" in command
    assert one(node_plan, "kubelet").fields["depends"] == ["docker"]
