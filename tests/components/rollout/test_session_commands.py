"""Session commands, judged by AWS's own model of StartSession; gcloud has no published parser."""

import json
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from botocore.session import get_session
from botocore.validate import ParamValidator

from components.rollout import session_commands
from components.rollout.session_commands import MachinePlace
from components.spec.existing import ExistingBastion, ExistingNetwork

AWS = MachinePlace("aws", "i-0123456789abcdef0", "eu-west-1", profile="ops")
GCP = MachinePlace("gcp", "team-control-plane-0", "our-project", "europe-west1-b")


def options(words: list[str]) -> dict[str, str]:
    return dict(zip(words[::2], words[1::2], strict=True))


def test_a_forward_on_aws_is_a_valid_call_of_start_session_and_keeps_to_loopback() -> None:
    words = session_commands.forward(AWS, 6443, 40001)
    assert words[:3] == ["aws", "ssm", "start-session"]
    given = options(words[3:])
    assert (given["--region"], given["--profile"]) == ("eu-west-1", "ops")
    call = {
        "Target": given["--target"],
        "DocumentName": given["--document-name"],
        "Parameters": json.loads(given["--parameters"]),
    }
    model = get_session().get_service_model("ssm").operation_model("StartSession")
    assert not ParamValidator().validate(call, model.input_shape).has_errors()
    assert call["Parameters"] == {"portNumber": ["6443"], "localPortNumber": ["40001"]}


def test_a_shell_on_aws_names_no_document_and_no_profile_that_the_stack_does_not_name() -> None:
    words = session_commands.shell(MachinePlace("aws", "i-0123456789abcdef0", "eu-west-1"))
    assert options(words[3:]) == {"--target": "i-0123456789abcdef0", "--region": "eu-west-1"}


def test_commands_on_gcp_name_instance_zone_and_project() -> None:
    """Compare with the reference pages of `gcloud compute start-iap-tunnel` and `gcloud compute ssh`."""
    place = ["--zone", "europe-west1-b", "--project", "our-project"]
    tunnel = ["start-iap-tunnel", "team-control-plane-0", "6443", "--local-host-port", "127.0.0.1:40001"]
    assert session_commands.forward(GCP, 6443, 40001) == ["gcloud", "compute", *tunnel, *place]
    ssh = ["gcloud", "compute", "ssh", "team-control-plane-0", "--tunnel-through-iap"]
    assert session_commands.shell(GCP) == [*ssh, *place]


VM = "/subscriptions/s/resourceGroups/team/providers/Microsoft.Compute/virtualMachines/control-plane-0"
HUB = "/subscriptions/h/resourceGroups/hub/providers/Microsoft.Network/bastionHosts/shared"


def test_a_forward_on_azure_names_the_host_of_the_cluster_or_that_of_the_user() -> None:
    """Compare with `az network bastion tunnel` (azure-cli-extensions, src/bastion, _params.py)."""
    target = {"--target-resource-id": VM, "--resource-port": "6443", "--port": "40001"}
    words = session_commands.forward(session_commands.azure_place(VM, "team", None), 6443, 40001)
    assert words[:4] == ["az", "network", "bastion", "tunnel"]
    assert options(words[4:]) == {"--name": "team", "--resource-group": "team", "--subscription": "s", **target}
    bastion = ExistingBastion(id=HUB, range=IPv4Network("10.9.0.0/26"))
    existing = ExistingNetwork(network="n", subnets=[], bastion=bastion)
    words = session_commands.forward(session_commands.azure_place(VM, "team", existing), 6443, 40001)
    assert options(words[4:]) == {"--name": "shared", "--resource-group": "hub", "--subscription": "h", **target}


def test_azure_has_no_shell() -> None:
    with pytest.raises(ValueError, match="reach the API only"):
        session_commands.shell(session_commands.azure_place(VM, "team", None))


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("cloud", "names"),
    [("azure", ("azure-cli",)), ("aws", ("awscli", "session-manager-plugin")), ("gcp", ("google-cloud-cli",))],
)
def test_missing_programs_are_named_with_their_packages(
    cloud: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_commands.shutil, "which", lambda name: None)
    assert all(f"package {name}" in session_commands.missing(cloud) for name in names)
    monkeypatch.setattr(session_commands.shutil, "which", lambda name: f"/bin/{name}")
    assert session_commands.missing(cloud) == ""


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("printed", "refused"),
    [
        ("1.2.707.0\n", True),
        ("1.2.763.9\n", True),
        ("1.2.764.0\n", False),
        ("1.2.896.0\n", False),
        ("1.10.0.0\n", False),
        ("The Session Manager plugin was installed successfully.\n", False),
    ],
)
def test_a_plugin_that_aws_no_longer_supports_is_refused_with_its_version(
    printed: str, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("aws", "session-manager-plugin"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n[ \"$*\" = --version ] && printf '{printed.strip()}\\n'\n", "utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    said = session_commands.missing("aws")
    assert (f"session-manager-plugin {printed.strip()} is too old" in said) == refused == bool(said)
