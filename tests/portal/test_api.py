"""The API: the same rules as the pages, tokens, limits of calls, and its OpenAPI document."""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from tests.portal.conftest import PASSWORD
from tests.portal.test_pages import ask, cluster

SignIn = Callable[[str], Client]
WISH = {"team": "red", "template": "windows-small", "name": "one", "hours": 8}


class Api:
    """Calls with a token. `answer` keeps the last answer's status."""

    def __init__(self, token: str, address: str = "127.0.0.1") -> None:
        self.client, self.address = Client(), address
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        answer: Any = self.client.generic(
            method,
            f"/api/v1{path}",
            json.dumps(body) if body is not None else "",
            "application/json",
            headers=self.headers,
            REMOTE_ADDR=self.address,
        )
        return answer.status_code, json.loads(answer.content)


@pytest.fixture(autouse=True)
def _no_calls_yet() -> None:
    cache.clear()


def made(name: str, team: str = "red", *, service: bool = False, days: int = 1) -> str:
    from portal import tokens
    from portal.models import Team, User

    user = User.objects.get(username=name)
    return tokens.make(user, Team.objects.get(name=team), "ci", days, service=service)[1]


def approver(name: str, team: str = "red") -> None:
    from portal.models import Membership, Team, User

    user = User.objects.get(username=name)
    Membership.objects.update_or_create(
        user=user, team=Team.objects.get(name=team), defaults={"role": Membership.Role.APPROVER}
    )


def test_calls_without_a_token_or_with_the_cookie_of_a_page_are_refused(sign_in: SignIn) -> None:
    assert Api("").call("GET", "/clusters")[0] == 401
    assert Api("mullion_unknown").call("GET", "/clusters")[0] == 401
    assert sign_in("alice").get("/api/v1/clusters").status_code == 401


def test_a_request_by_the_api_is_a_cluster_on_the_page_and_is_removed_by_the_api(sign_in: SignIn) -> None:
    api = Api(made("alice"))
    status, plan = api.call("POST", "/templates/windows-small/plan", {"choices": {"pools.windows.count": 3}})
    assert (status, len(plan["machines"]), plan["problems"]) == (200, 5, [])
    status, found = api.call("POST", "/clusters", WISH)
    assert (status, found["name"], found["state"], found["asked_by"]) == (201, "red-one", "building", "alice")
    assert "red-one" in sign_in("alice").get("/").content.decode()
    assert api.call("DELETE", "/clusters/red-one")[1]["detail"].endswith("has a job that has not ended; wait for it.")
    from portal.models import Cluster, Job

    Job.objects.update(state="done")
    Cluster.objects.update(state="ready")
    assert api.call("DELETE", "/clusters/red-one")[1]["job"]["kind"] == "down"
    events = api.call("GET", "/clusters/red-one/events")[1]
    assert [each["action"] for each in events] == ["job.down", "cluster.remove", "job.up", "cluster.ask"]
    assert {each["actor"] for each in events} == {"alice (token ci)"}


@pytest.mark.parametrize(
    ("wish", "status", "said"),
    [
        ({"choices": {"pools.windows.count": 9}}, 409, "is not a whole number from 1 to 4"),
        ({"hours": 73}, 409, "from 1 to 72"),
        ({"hours": -1}, 409, "from 1 to 72"),
        ({"name": "../x"}, 409, "write 2 to 15 lower-case letters"),
        ({"choices": {"owner": "x"}}, 409, "does not let you choose it"),
        ({"team": "blue"}, 404, "Not Found"),
        ({"template": "nothing"}, 404, "Not Found"),
        ({"choices": []}, 422, ""),
    ],
)
def test_the_api_refuses_what_the_form_refuses(wish: Any, status: int, said: str, data: Path) -> None:
    from portal.models import Cluster

    answered, body = Api(made("alice")).call("POST", "/clusters", WISH | wish)
    assert answered == status
    assert said in str(body["detail"])
    assert not Cluster.objects.exists()


def test_a_token_sees_nothing_beyond_its_team(sign_in: SignIn) -> None:
    ask(sign_in("alice"))
    for api in (Api(made("bob", "blue")), Api(made("pat", "blue"))):
        assert api.call("GET", "/clusters")[1] == []
        for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/approve"), ("POST", "/refuse")):
            assert api.call(method, f"/clusters/red-one{path}")[0] == 404
        assert api.call("POST", "/clusters/red-one/retry")[0] == 404
        assert api.call("POST", "/clusters/red-one/extend", {"hours": 1})[0] == 404
        assert api.call("DELETE", "/clusters/red-one")[0] == 404
    assert [each["name"] for each in Api(made("pat")).call("GET", "/clusters")[1]] == ["red-one"]
    assert cluster().state == "building"


def test_the_maker_of_a_service_cannot_approve_its_request(data: Path) -> None:
    approver("alice")
    approver("bob")
    service = Api(made("alice", service=True))
    assert service.call("POST", "/clusters", WISH | {"hours": 48})[1]["state"] == "asked"
    own = Api(made("alice"))
    assert own.call("GET", "/clusters?to_decide=true")[1] == []
    assert own.call("POST", "/clusters/red-one/approve")[0] == 409
    assert service.call("POST", "/clusters/red-one/approve")[0] == 409
    assert Api(made("bob")).call("POST", "/clusters/red-one/approve")[1]["state"] == "building"


def test_a_member_can_make_no_token_of_a_service_or_for_another_team(sign_in: SignIn) -> None:
    from portal.models import Token

    client = sign_in("alice")
    form = {"team": "red", "name": "ci", "days": "7", "kind": "service"}
    assert "An approver of team red" in client.post("/tokens/", form).content.decode()
    assert client.post("/tokens/", {**form, "team": "blue", "kind": "personal"}).status_code == 404
    assert "from 1 to 365" in client.post("/tokens/", {**form, "kind": "personal", "days": "366"}).content.decode()
    assert not Token.objects.exists()


def test_a_token_is_shown_once_and_the_database_has_its_digest_alone(sign_in: SignIn, data: Path) -> None:
    from portal.models import Token

    client = sign_in("alice")
    page = client.post("/tokens/", {"team": "red", "name": "laptop", "days": "7"})
    text = page.context["made"]
    assert text in page.content.decode()
    assert text not in client.get("/tokens/").content.decode()
    assert Token.objects.get().digest == hashlib.sha256(text.encode()).hexdigest()
    assert not any(text.encode() in path.read_bytes() for path in data.glob("portal.db*"))
    assert Api(text).call("GET", "/me")[1]["token"] == "laptop"


def test_a_token_ends_when_it_is_revoked_or_expires_or_its_person_leaves(sign_in: SignIn) -> None:
    from portal.models import Membership, Token, User

    api = Api(made("alice"))
    assert api.call("GET", "/me")[0] == 200
    User.objects.filter(username="alice").update(is_active=False)
    assert api.call("GET", "/me")[0] == 401
    User.objects.filter(username="alice").update(is_active=True)
    Token.objects.update(expires=timezone.now() - timedelta(seconds=1))
    assert api.call("GET", "/me")[0] == 401
    Token.objects.update(expires=timezone.now() + timedelta(days=1))
    number = Token.objects.get().pk
    assert sign_in("bob").post(f"/tokens/{number}/revoke/").status_code == 404
    sign_in("alice").post(f"/tokens/{number}/revoke/")
    assert api.call("GET", "/me")[0] == 401
    other = Api(made("alice"))
    Membership.objects.filter(user__username="alice").delete()
    assert other.call("POST", "/clusters", WISH)[0] == 404
    assert other.call("GET", "/clusters")[1] == []


def test_nobody_signs_in_as_a_service(data: Path) -> None:
    made("pat", service=True)
    assert not Client().login(username="service-red-ci", password="")
    assert not Client().login(username="service-red-ci", password=PASSWORD)


def test_calls_above_the_limit_are_refused_until_the_next_minute(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from portal import api as served
    from portal import rates

    now = [1_800_000_000.0]
    monkeypatch.setattr(rates.time, "time", lambda: now[0])
    monkeypatch.setattr(served.CALLS, "most", 3)
    one, other = Api(made("alice")), Api(made("bob", "blue"))
    assert [one.call("GET", "/me")[0] for _ in range(4)] == [200, 200, 200, 429]
    assert other.call("GET", "/me")[0] == 200, "another token has a limit of its own"
    now[0] += 60
    assert one.call("GET", "/me")[0] == 200


def test_an_address_that_tries_many_unknown_tokens_has_to_wait(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from portal import api as served

    monkeypatch.setattr(served.FAILURES, "most", 2)
    stranger = Api("mullion_guess", "192.0.2.1")
    assert [stranger.call("GET", "/me")[0] for _ in range(3)] == [401, 401, 429]
    assert Api(made("alice"), "192.0.2.1").call("GET", "/me")[0] == 200, "a token that exists still works"


def test_answers_have_the_form_of_the_openapi_document(data: Path) -> None:
    document = json.loads(Client().get("/api/v1/openapi.json").content)
    validate(document)
    api = Api(made("alice"))
    calls = [
        ("post", "/clusters", "/clusters", WISH),
        ("post", "/clusters", "/clusters", WISH),
        *(("get", path, path, None) for path in ("/me", "/templates", "/clusters")),
        ("get", "/clusters/{name}", "/clusters/red-one", None),
        ("get", "/clusters/{name}", "/clusters/red-two", None),
        ("get", "/clusters/{name}/events", "/clusters/red-one/events", None),
        ("post", "/templates/{name}/plan", "/templates/windows-small/plan", {}),
        ("post", "/clusters/{name}/extend", "/clusters/red-one/extend", {"hours": 1}),
    ]
    seen = set()
    for method, path, called, body in calls:
        status, answer = api.call(method.upper(), called, body)
        answers = document["paths"][f"/api/v1{path}"][method]["responses"]
        form = answers[str(status)]["content"]["application/json"]["schema"]
        Draft202012Validator({**form, "components": document["components"]}).validate(answer)
        seen.add(status)
    assert seen == {200, 201, 404, 409}
