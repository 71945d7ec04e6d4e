"""The join secret while its service answers late, not at all, or with an earlier version."""

import base64
import importlib
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sandbox.services.gcp import secretmanager
from tests.cloud_init.cloud import EACH_CLOUD, FakeCloud
from tests.cloud_init.linux import Programs

FIRST, SECOND, THIRD = (f"{letter * 6}.0123456789abcdef" for letter in "abc")
STEP = {"kind": "bootstrap-token", "secret": "join", "kubeconfig": "/k", "lifetime_hours": 24}
ON_GCP = pytest.mark.parametrize("cloud", ["gcp"], indirect=True)


def machine(root: Path, cloud: FakeCloud) -> Any:
    """Return a run of the executor, as each machine has one of its own."""
    made = importlib.import_module("run").Run(root, {"machine": {"name": "web-0"}, "facts": cloud.facts}, {})
    made.try_for(60)
    return made


@pytest.fixture
def agent(node: ModuleType, cloud: FakeCloud, root: Path) -> Any:
    """Return a run of the agent, which has seen no version yet."""
    importlib.import_module("clouds.gcp")._newest.clear()
    return machine(root, cloud)


def known(token: str, hours: float) -> str:
    """Return the cluster's Secret of a token that is valid for so long, as kubectl prints it."""
    end = (datetime.now(timezone.utc) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
    fields = {"token-secret": token.partition(".")[2], "expiration": end}
    return json.dumps({"data": {name: base64.b64encode(text.encode()).decode() for name, text in fields.items()}})


@ON_GCP
def test_a_machine_that_reads_an_earlier_version_as_the_latest_can_read_it(
    agent: Any, cloud: FakeCloud, root: Path
) -> None:
    cloud.secrets["join"] = FIRST
    for text in (SECOND, THIRD):
        agent.put_secret("join", text)
    newest = importlib.import_module("clouds.gcp")._newest
    newest.clear()  # another process
    assert machine(root, cloud).secret("join") == SECOND
    assert not cloud.refused()


@ON_GCP
def test_the_agent_reads_what_it_has_stored_although_latest_lags(agent: Any, cloud: FakeCloud) -> None:
    cloud.secrets["join"] = FIRST
    for text in (SECOND, THIRD):
        agent.put_secret("join", text)
        agent.forget()
        assert agent.secret("join") == text


@ON_GCP
def test_the_agent_does_not_go_back_to_a_version_before_one_that_it_has_read(
    agent: Any, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.secrets["join"] = FIRST
    cloud.secrets["join"] = SECOND
    monkeypatch.setattr(secretmanager, "LAG_SECONDS", 0.0)
    assert agent.secret("join") == SECOND
    agent.forget()
    monkeypatch.setattr(secretmanager, "LAG_SECONDS", 60.0)
    assert agent.secret("join") == SECOND


@ON_GCP
def test_versions_before_the_previous_one_are_destroyed(agent: Any, cloud: FakeCloud) -> None:
    cloud.secrets["join"] = FIRST
    for text in (SECOND, THIRD, FIRST):
        agent.put_secret("join", text)
    values = cloud.services.cloud_state.secret_values(cloud.account.secret("join"))
    assert list(values.values()) == ["", "", THIRD, FIRST]


@ON_GCP
def test_a_version_that_an_earlier_agent_destroyed_does_not_fail_the_next_rotation(
    agent: Any, cloud: FakeCloud
) -> None:
    cloud.secrets["join"] = FIRST
    agent.put_secret("join", SECOND)
    with cloud.services.cloud_state.transaction():
        cloud.services.cloud_state.blank_secret(cloud.account.secret("join"), "1")
    agent.put_secret("join", THIRD)
    assert list(cloud.services.cloud_state.secret_values(cloud.account.secret("join")).values()) == ["", SECOND, THIRD]


@EACH_CLOUD
def test_a_token_is_not_replaced_because_the_secret_cannot_be_read(
    agent: Any, cloud: FakeCloud, programs: Programs
) -> None:
    cluster = importlib.import_module("kinds.cluster")
    failure = importlib.import_module("failure").Failure
    cloud.secrets["join"] = FIRST
    programs.answers["kubectl"] = (0, known(FIRST, 20))
    service = {"aws": "secretsmanager", "azure": "keyvault", "gcp": "secretmanager"}[cloud.facts["cloud"]]
    cloud.services.faults.plan(f"{service} *", "refuse", "denied")
    with pytest.raises(failure) as refused:
        cluster.token_holds(agent, STEP)
    assert refused.value.name == "secret-unavailable"
    assert cluster.token_holds(agent, STEP)


@EACH_CLOUD
def test_a_token_is_made_if_the_secret_has_none(agent: Any, cloud: FakeCloud, programs: Programs) -> None:
    cloud.secrets["join"] = FIRST
    del cloud.secrets["join"]
    assert importlib.import_module("kinds.cluster").token_holds(agent, STEP) is False
