"""Linux user-data checked by cloud-init's own schema, on a machine that has cloud-init."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from components.machine.facts import longest
from components.machine.user_data import document, user_data
from lab.linuxnode.image import lacking
from tests.conformance.linux_booted import BootedMachine


@pytest.mark.subprocess
def test_cloud_inits_schema_accepts_the_user_data(missing: Callable[[str, str], NoReturn], tmp_path: Path) -> None:
    if why := lacking():
        missing("linuxnode", why)
    told = document("https://b/x", "0" * 64, {"name": "linux-0"}, longest(control_plane=True))
    machine = BootedMachine(tmp_path)
    try:
        machine.write("/root/user-data", user_data("linux", told, "aws"))
        machine.write("/root/wrong", "#cloud-config\nruncmd: [1]\n")
        said = machine.call("cloud-init", "schema", "--config-file", "/root/user-data")
        with pytest.raises(Exception, match="returned non-zero"):
            machine.call("cloud-init", "schema", "--config-file", "/root/wrong")
    finally:
        machine.close()
    assert "Valid" in said
