"""The command that starts user-data at a boot, by cloud, without Windows."""

import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.azure.machines import COMMAND
from sandbox.boot.windows import launch
from sandbox.boot.windows.server import FRESH, Failed
from sandbox.cloud_state import CloudState

MACHINE = "/subscriptions/s/web-0"
RECORD: Any = SimpleNamespace(
    id=MACHINE, name="web-0", inputs={"osProfile": {"customData": base64.b64encode(b"the loader").decode()}}
)


@pytest.fixture
def cloud_state(tmp_path: Path) -> CloudState:
    return CloudState(tmp_path / "world.db")


def told(cloud_state: CloudState, command: str) -> None:
    """Set the command of the machine's extension."""
    with cloud_state.transaction():
        cloud_state.put_secret(MACHINE, "protectedSettings", json.dumps({"commandToExecute": command}))


def started(cloud_state: CloudState, disk: Path, cloud: str = "azure") -> str:
    def put(path: str, content: bytes) -> None:
        place = disk / path.partition(":\\")[2].replace("\\", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)

    return launch.launch(cloud, cloud_state.path, RECORD, put)


def test_on_azure_the_extensions_command_runs_after_custom_data_is_on_the_disk(
    cloud_state: CloudState, tmp_path: Path
) -> None:
    told(cloud_state, COMMAND)
    disk = tmp_path / "disk"
    words = started(cloud_state, disk).removeprefix("Start-CustomScript '").removesuffix("'").replace("''", "'")
    assert COMMAND.endswith(f'-Command "{words}"'), "as the program writes it"
    assert (disk / "AzureData" / "CustomData.bin").read_bytes() == b"the loader"


def test_quoted_makes_any_text_one_powershell_string() -> None:
    assert launch.quoted("a 'b' $c") == "'a ''b'' $c'"


@pytest.mark.parametrize("command", ["", "cmd.exe /c start", COMMAND.replace("-NoProfile ", "")])
def test_on_azure_a_command_of_another_program_fails_the_boot(
    command: str, cloud_state: CloudState, tmp_path: Path
) -> None:
    told(cloud_state, command)
    with pytest.raises(Failed, match="extension of web-0"):
        started(cloud_state, tmp_path / "disk")


def test_on_azure_a_boot_without_extension_fails(
    cloud_state: CloudState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "EXTENSION_SECONDS", 0)
    with pytest.raises(Failed, match="web-0 has no extension"):
        started(cloud_state, tmp_path / "disk")


def test_on_aws_and_gcp_a_service_starts_user_data_and_ec2_names_the_machine(
    cloud_state: CloudState, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    assert [started(cloud_state, disk, each) for each in ("aws", "gcp")] == [
        "Start-Ec2Launch v2",
        "Start-MetadataScript",
    ]
    assert [launch.first_name(each, "web-0") for each in launch.LAUNCH] == [FRESH, "web-0", "web-0"]
