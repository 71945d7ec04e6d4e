"""`mullion sandbox network`: creates the network of a stack file in its sandbox."""

from pathlib import Path

import pytest
import yaml

from components.stack_files.stack import CLUSTER
from operations.commands import sandbox_network
from operations.console.exits import Exit, Stop
from operations.stacks import target
from operations.stacks.paths import REPOSITORY
from sandbox.cloud_state import CloudState
from tests import existing_networks
from tests.clones import work_in


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work_in(tmp_path, monkeypatch)
    (tmp_path / "stacks").mkdir()
    (tmp_path / "Pulumi.yaml").write_text((REPOSITORY / "Pulumi.yaml").read_text())
    return tmp_path


def write(clone: Path, cloud: str, *, existing: bool = True) -> str:
    settings = yaml.safe_load((REPOSITORY / "stacks" / f"Pulumi.{cloud}-dev.yaml").read_text())
    if existing:
        settings["config"][CLUSTER]["network"] = {"existing": existing_networks.EXISTING[cloud]}
    (clone / "stacks" / "Pulumi.mine.yaml").write_text(yaml.safe_dump(settings))
    return "mine"


@pytest.mark.parametrize("cloud", existing_networks.EXISTING)
def test_the_network_of_the_stack_file_is_in_the_sandbox_once(
    cloud: str, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = write(clone, cloud)
    sandbox_network.create(name)
    wanted = existing_networks.EXISTING[cloud]
    cloud_state = CloudState(target.cloud_state_file(name))
    ids = {each.id for each in existing_networks.yours(cloud_state)}
    assert {wanted["network"], *(each["id"] for each in wanted["subnets"])} <= ids
    assert (
        capsys.readouterr().out
        == f"{len(ids)} resources of your network are in the sandbox of mine: {wanted['network']}\n"
    )
    with pytest.raises(Stop, match="has a network of yours already") as refused:
        sandbox_network.create(name)
    assert refused.value.code is Exit.REFUSED
    assert {each.id for each in existing_networks.yours(cloud_state)} == ids
    cloud_state.close()


def test_subnets_of_virtual_network_rules_are_in_the_sandbox(clone: Path) -> None:
    name = write(clone, "azure")
    settings = yaml.safe_load((clone / "stacks" / "Pulumi.mine.yaml").read_text())
    inside = f"{existing_networks.EXISTING['azure']['network']}/subnets/runners"
    elsewhere = inside.replace("virtualNetworks/", "virtualNetworks/ci-")
    settings["config"][CLUSTER]["api"] = {"virtual_network_rules": [inside, elsewhere]}
    (clone / "stacks" / "Pulumi.mine.yaml").write_text(yaml.safe_dump(settings))
    sandbox_network.create(name)
    cloud_state = CloudState(target.cloud_state_file(name))
    subnets = {one.id: one for one in cloud_state.resources("azure-native:network:Subnet")}
    assert {inside, elsewhere} <= set(subnets)
    assert subnets[elsewhere].inputs["serviceEndpoints"] == [{"service": "Microsoft.Storage"}]
    cloud_state.close()


def test_a_stack_without_an_existing_network_is_refused(clone: Path) -> None:
    with pytest.raises(Stop, match=r"has no network\.existing") as refused:
        sandbox_network.create(write(clone, "aws", existing=False))
    assert refused.value.code is Exit.USAGE


def test_the_sandboxs_own_reason_is_shown(clone: Path) -> None:
    name = write(clone, "aws")
    target.sandbox_folder(name).mkdir(parents=True)
    cloud_state = CloudState(target.cloud_state_file(name))
    with cloud_state.transaction():
        cloud_state.set_setting("quota/VPCs per region", "0")
    with pytest.raises(Stop, match="the sandbox refuses the network of mine: VpcLimitExceeded") as refused:
        sandbox_network.create(name)
    assert refused.value.code is Exit.FAILED
    cloud_state.close()
