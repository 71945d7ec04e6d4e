"""`mullion explain`: every option has a page; paths with pools, wildcards and lists; unknown paths."""

import subprocess
import sys
from collections.abc import Callable

import pytest
import yaml
from typer.testing import Result

from components.spec import change_effects
from components.spec.examples import EXAMPLES
from components.spec.models import ClusterSpec
from operations.commands import explain
from operations.console.exits import Exit
from operations.stacks.paths import REPOSITORY
from tests.components.spec.gmsa_values import named
from tests.components.spec.ingress_values import INGRESS
from tests.components.spec.test_change_effects import OPTIONS, SAMPLE, merged

Run = Callable[..., Result]
BASTION = {
    "id": "/subscriptions/ID/resourceGroups/hub/providers/Microsoft.Network/bastionHosts/shared",
    "range": "10.9.0.0/26",
}
"""A Bastion host needs both options."""
EXISTING_CLUSTER = {"endpoint": "https://k8s.example.com:6443", "ca": "CA", "nodes": ["10.40.0.0/24"]}


@pytest.mark.parametrize("path", OPTIONS)
def test_every_option_has_a_page_with_type_change_and_an_example_that_the_models_read(path: str) -> None:
    page = explain.page(path)
    assert page.startswith(f"{path}   ")
    effect = change_effects.effect(path)
    assert effect
    assert f"change   {effect.value}: " in page
    example = page.partition("Example:\n")[2].partition("\n\n")[0].replace("NAME", "web")
    cluster = yaml.safe_load(example)["mullion:cluster"]
    if path.startswith("network.existing"):
        subnets = [{"id": "subnet-1", "range": "10.20.4.0/22"}]
        cluster = merged({"network": {"existing": {"network": "vpc-1", "subnets": subnets}}}, cluster)
    if path.startswith("network.existing.bastion."):
        cluster = merged({"network": {"existing": {"bastion": BASTION}}}, cluster)
    if path.startswith("existing_cluster"):
        cluster = merged({"existing_cluster": EXISTING_CLUSTER}, cluster)
    if path.startswith("ingress.load_balancers"):
        cluster = merged(INGRESS, cluster)
    if path.startswith("gmsa"):
        cluster = merged({"gmsa": named()["gmsa"]}, cluster)
    if path.startswith("snapshots.copy_to"):
        cluster = merged({"snapshots": {"copy_to": {"bucket": "copies", "region": "eu-central-1"}}}, cluster)
    if path.startswith("api.oidc"):
        cluster = merged({"api": {"oidc": {"issuer": "https://login.example.com", "client": "kubernetes"}}}, cluster)
    ClusterSpec.model_validate(merged(SAMPLE, cluster))


def test_every_example_belongs_to_an_option() -> None:
    definitions = explain._definitions()
    for row in EXAMPLES:
        model, _, option = row.partition(".")
        assert option in definitions[model]["properties"], row


def test_a_group_shows_its_options_with_default_and_change(mullion: Run) -> None:
    shown = mullion("explain", "pools.*.rollout").stdout
    for word in ("max_unavailable", "drain", "10m", "gate", "next machine", "in place"):
        assert word in shown
    assert "system_reserved" in mullion("explain", "pools.web.kubelet").stdout
    assert "mullion:cluster" in mullion("explain").stdout


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("pools.web.disk_gb", ("unit     GiB", "allowed  20 to 16384", "the machines of the pool")),
        ("network.mode", ("allowed  overlay, l2bridge", "refused")),
        ("mullion:cluster.kubernetes", ("every pool", "control-plane machines are updated in place")),
        ("pools.web.kubelet.system_reserved.cpu", ("500m", "CPU quantity")),
        ("artifacts.entries.0.url", ("- url: https://",)),
        ("artifacts.entries[0].url", ("- url: https://",)),
        ("pools.web", ("A pool: workers of one operating system",)),
    ],
)
def test_the_page_of_an_option(path: str, shown: tuple[str, ...], mullion: Run) -> None:
    result = mullion("explain", path)
    assert result.exit_code == 0
    for words in shown:
        assert words in result.stdout


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("pools.web.rolout", "pools.web has no option 'rolout'; did you mean pools.web.rollout?"),
        ("poools", "mullion:cluster has no option 'poools'; did you mean pools?"),
        ("pools.web.replica", "pools.web has no option 'replica'; did you mean pools.web.count?"),
        ("kubelet", "has no option 'kubelet'; did you mean control_plane.kubelet or pools.*.kubelet?"),
        ("network.podCIDR", "did you mean network.pods?"),
        ("autoscaler", "has no option 'autoscaler'. Its options: cloud,"),
        ("pools.web.kubelet.config.maxPods", "mullion explain pools.web.kubelet.config"),
        ("network..mode", "network has no option ''"),
    ],
)
def test_an_unknown_path_is_answered_with_the_nearest_option(path: str, message: str, mullion: Run) -> None:
    result = mullion("explain", path)
    assert result.exit_code == Exit.USAGE
    assert message in result.stderr


@pytest.mark.subprocess
def test_explain_imports_neither_pydantic_nor_pulumi() -> None:
    code = "import sys; from operations.commands import explain; explain.explain('pools'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert not {"pydantic", "pulumi"} & set(done.stdout.splitlines()[-1].split())
