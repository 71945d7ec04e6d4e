"""The public issuer on the real engine: it signs once every control plane knows it, and keys are published ahead."""

import os
from pathlib import Path
from typing import Any

import pytest
from pulumi import automation as auto

from components.rollout.authority_gate import Follower
from components.rollout.issuer_gate import not_known
from components.spec.choices import TokenIssuer
from tests.components.wiring.generated_lab import ISSUER, Lab, stashes

pytestmark = [
    pytest.mark.engine,
    # After a refused run the SDK skips closing its event loop, because a task of its server raises during clean-up.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

KUBEADMS = "https://kubernetes.default.svc.cluster.local"
PLANES = tuple(Follower(f"control-plane-{each}", f"10.0.0.{each + 4}", "control-plane", True) for each in range(3))
WORKER = Follower("linux-0", "10.0.0.8", "workers", False)


@pytest.fixture
def lab(engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("PATH", f"{engine.path.parent}{os.pathsep}{os.environ['PATH']}")
    made = Lab(tmp_path)
    made.followers = (*PLANES, WORKER)
    made.cloud.running = {each.address: f"i-{each.name}" for each in made.followers}
    return made


def report(lab: Lab, plane: int, *issuers: str) -> None:
    known = {"issuers": ",".join(issuers)} if issuers else {}
    lab.cloud.records[f"i-control-plane-{plane}"] = {"state": "ready", **known}


def refused(lab: Lab, match: str) -> None:
    lab.issuer = TokenIssuer.SIGNS
    for attempt in (lab.preview, lab.up):
        with pytest.raises(auto.CommandError, match=rf"(?s)pod_identity.issuer: signs is refused.*{match}"):
            attempt()


def step(lab: Lab) -> Any:
    return stashes(lab.state())["ci-issuer"]["inputs"]["input"]


def test_the_issuer_signs_once_every_control_plane_knows_it(lab: Lab) -> None:
    lab.up()
    refused(lab, "control-plane-0: it has no status record")
    assert "ci-issuer" not in stashes(lab.state()), "also if the run with accepted never came so far"
    lab.issuer = TokenIssuer.ACCEPTED
    lab.up()
    for plane in range(3):
        report(lab, plane, *((KUBEADMS, ISSUER) if plane == 0 else (KUBEADMS,) if plane == 1 else ()))
    refused(lab, r"\(control-plane-1: its API server does not know.*; control-plane-2: it has not reported")
    assert step(lab) == "accepted"
    for plane in range(3):
        report(lab, plane, KUBEADMS, ISSUER)
    lab.issuer = TokenIssuer.SIGNS
    lab.up()
    assert step(lab) == "signs"
    report(lab, 0, KUBEADMS)
    lab.up()  # it signs already, so nothing is asked


@pytest.mark.parametrize("planes", [1, 3])
def test_a_new_cluster_and_one_control_plane_need_no_step_between(lab: Lab, planes: int) -> None:
    lab.followers = PLANES[:planes]
    if planes == 1:
        lab.up()
    lab.issuer = TokenIssuer.SIGNS
    lab.up()
    assert step(lab) == "signs"


def test_the_key_of_the_next_rotation_is_published_before_any_api_server_has_it(lab: Lab) -> None:
    lab.issuer = TokenIssuer.SIGNS
    first = lab.up()
    [current, ahead] = first.outputs["published_keys"]
    assert [each["public"] for each in first.files["service-account-keys"]] == [current]
    second = lab.up(service_account=1)
    assert second.outputs["published_keys"][:2] == [ahead, current], "it was published by the run before"
    assert [each["public"] for each in second.files["service-account-keys"]] == [ahead, current]
    assert len(second.outputs["published_keys"]) == 3


def test_without_the_option_no_key_is_made_ahead(lab: Lab) -> None:
    run = lab.up()
    assert "ci-service-account-1" not in stashes(run.state)
    assert run.outputs["published_keys"] == [each["public"] for each in run.files["service-account-keys"]]


def test_a_record_shows_the_issuers_of_the_api_server() -> None:
    assert not_known({"state": "ready", "issuers": f"{ISSUER},{KUBEADMS}"}, ISSUER) == ""
    assert "does not know" in not_known({"state": "ready", "issuers": f"{ISSUER}.example.com"}, ISSUER)
    assert "does not know" in not_known({"state": "ready", "issuers": ""}, "")
    assert "no status record (gone)" in not_known({"state": "absent", "message": "gone"}, ISSUER)
