"""States that the real engine cannot read, beside one that it can, in a backend in a folder."""

import json
from pathlib import Path

import pytest

from operations.engine.locate import Engine
from sandbox import home
from tests.operations.states import deployment

from .clone import Clone

pytestmark = pytest.mark.engine

UNREAD = {
    "torn": ('{"version": 3, "checkp', "failed to load checkpoint"),
    "newer": ('{"version": 4, "features": ["of-tomorrow"], "checkpoint": {}}', "features: of-tomorrow"),
}


def test_ls_and_reap_name_states_that_the_engine_cannot_read_and_handle_the_other(
    tmp_path: Path, engine: Engine
) -> None:
    folder = tmp_path / "backend" / ".pulumi"
    stacks = folder / "stacks" / "mullion"
    stacks.mkdir(parents=True)
    (folder / "meta.yaml").write_text("version: 1\n")
    good = deployment(expires="1h")
    good["manifest"] = {"time": "2026-11-23T10:00:00Z", "magic": "", "version": ""}
    for each in good["resources"]:
        each["custom"] = each["type"].startswith("aws:")
        each["id"] = "i-1" if each["custom"] else ""
    checkpoint = {"stack": "organization/mullion/good", "latest": good}
    (stacks / "good.json").write_text(json.dumps({"version": 3, "checkpoint": checkpoint}))
    for name, (text, _) in UNREAD.items():
        (stacks / f"{name}.json").write_text(text)
    clone = Clone(tmp_path, engine)
    clone.environment |= {
        "PULUMI_HOME": str(home.install(tmp_path / "home")),
        "PULUMI_BACKEND_URL": (tmp_path / "backend").as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "of the tests",
    }
    for words in (("ls",), ("reap",)):
        ran = clone.run(*words)
        assert "good" in ran.stdout, ran.stderr
        for name, (_, why) in UNREAD.items():
            assert f"the state of {name} cannot be read: " in ran.stderr
            assert why in ran.stderr
