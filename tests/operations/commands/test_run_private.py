"""`mullion run` with a private API: the command's kubeconfig names a tunnel, which ends with the command."""

import json
import os
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
from operations.commands import kubeconfig, reached_api, up_and_down
from operations.console.exits import Exit
from operations.engine import state
from operations.stacks import boot_site, target
from tests.operations.commands.runs import Cluster, nothing_left
from tests.operations.commands.test_kubeconfig import stored

READ = "import os,sys; open(sys.argv[1],'w').write(open(os.environ['KUBECONFIG']).read())"


class Tunnel:
    """A private API that answers through a tunnel only. asked: servers that got a request for events."""

    def __init__(self, clone: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.ended = list[str](), list[bool]()

        @contextmanager
        def built(name: str) -> Iterator[Any]:
            yield SimpleNamespace()

        def up(name: str, **options: Any) -> None:
            cluster.up(name, **options)
            target.write(target.folder(name) / "kubeconfig", stored(30))

        def client(text: str) -> Any:
            server = yaml.safe_load(text)["clusters"][0]["cluster"]["server"]
            return SimpleNamespace(ask=lambda *_: self.asked.append(server) or {"items": []})

        tunnel = SimpleNamespace(
            url="https://127.0.0.1:40001", is_open=True, close=lambda: self.ended.append((clone / "said").exists())
        )
        machine = {"id": "i-1", "zone": "eu-west-1a", "pool": "control-plane"}
        monkeypatch.setattr(up_and_down, "up", up)
        monkeypatch.setattr(kubeconfig, "built", built)
        monkeypatch.setattr(state, "resources", lambda run: [])
        monkeypatch.setattr(state, "instances", lambda resources: {"control-plane-0": machine})
        monkeypatch.setattr(boot_site, "api", lambda name: "https://127.0.0.1:6443")
        monkeypatch.setattr(api_tunnel, "answers_directly", lambda url: False)
        monkeypatch.setattr(api_tunnel, "open_tunnel", lambda *_: tunnel)
        monkeypatch.setattr(reached_api, "client", client)


@pytest.mark.subprocess
def test_the_events_of_a_failed_run_come_through_the_tunnel(
    clone: Path, cluster: Cluster, mullion_run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    tunnel = Tunnel(clone, cluster, monkeypatch)
    ran = mullion_run("--set", "access=session", "--verify", "none", command=("false",))
    assert ran.exit_code == 1, ran.stderr
    assert tunnel.asked == ["https://127.0.0.1:40001"], "the private address does not answer here"
    assert json.loads((clone / "art" / "events.json").read_text()) == {"items": []}
    assert len(tunnel.ended) == 2, "one tunnel of the command, one of the events"


@pytest.mark.subprocess
def test_an_interrupted_run_opens_no_tunnel_for_events(
    clone: Path, cluster: Cluster, mullion_run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    tunnel = Tunnel(clone, cluster, monkeypatch)
    interrupt = (sys.executable, "-c", f"import os,time; os.kill({os.getpid()}, 15); time.sleep(60)")
    ran = mullion_run("--set", "access=session", "--verify", "none", command=interrupt)
    assert ran.exit_code == Exit.INTERRUPTED, ran.stderr
    assert tunnel.asked and "https://127.0.0.1:40001" not in tunnel.asked
    assert len(tunnel.ended) == 1, "that of the command"


@pytest.mark.subprocess
def test_the_command_of_a_run_reaches_a_private_api_by_a_tunnel_that_ends_with_it(
    clone: Path, cluster: Cluster, mullion_run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    tunnel = Tunnel(clone, cluster, monkeypatch)
    words = (sys.executable, "-c", READ, str(clone / "said"))
    ran = mullion_run("--set", "access=session", "--verify", "none", command=words)
    assert ran.exit_code == 0, ran.stderr
    server = yaml.safe_load((clone / "said").read_text())["clusters"][0]["cluster"]["server"]
    assert server == "https://127.0.0.1:40001"
    assert tunnel.ended == [True]
    assert nothing_left(clone)
