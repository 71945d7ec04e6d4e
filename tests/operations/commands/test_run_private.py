"""`mullion run` with a private API: the command's kubeconfig names a tunnel, which ends with the command."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from typer.testing import Result

from components.rollout import api_tunnel
from operations.commands import kubeconfig, up_and_down
from operations.engine import state
from operations.stacks import boot_site, target
from tests.operations.commands.runs import Cluster, nothing_left
from tests.operations.commands.test_kubeconfig import stored

READ = "import os,sys; open(sys.argv[1],'w').write(open(os.environ['KUBECONFIG']).read())"


@pytest.mark.subprocess
def test_the_command_of_a_run_reaches_a_private_api_by_a_tunnel_that_ends_with_it(
    clone: Path, cluster: Cluster, mullion_run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[bool] = []

    @contextmanager
    def built(name: str) -> Iterator[Any]:
        yield SimpleNamespace()

    def opened(*_: Any) -> Any:
        assert (clone / "said").exists() is False
        return SimpleNamespace(
            url="https://127.0.0.1:40001", is_open=True, close=lambda: ended.append((clone / "said").exists())
        )

    def up(name: str, **options: Any) -> None:
        cluster.up(name, **options)
        target.write(target.folder(name) / "kubeconfig", stored(30))

    machine = {"id": "i-1", "zone": "eu-west-1a", "pool": "control-plane"}
    monkeypatch.setattr(up_and_down, "up", up)
    monkeypatch.setattr(kubeconfig, "built", built)
    monkeypatch.setattr(state, "resources", lambda run: [])
    monkeypatch.setattr(state, "instances", lambda resources: {"control-plane-0": machine})
    monkeypatch.setattr(boot_site, "api", lambda name: "https://127.0.0.1:6443")
    monkeypatch.setattr(api_tunnel, "answers_directly", lambda url: False)
    monkeypatch.setattr(api_tunnel, "open_tunnel", opened)
    words = (sys.executable, "-c", READ, str(clone / "said"))
    ran = mullion_run("--set", "access=session", "--verify", "none", command=words)
    assert ran.exit_code == 0, ran.stderr
    server = yaml.safe_load((clone / "said").read_text())["clusters"][0]["cluster"]["server"]
    assert server == "https://127.0.0.1:40001"
    assert ended == [True]
    assert nothing_left(clone)
