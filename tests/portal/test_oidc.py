"""Sign-in by OpenID Connect at a real provider on loopback (tests/portal/provider.py, by Authlib's server)."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from operations.stacks.paths import REPOSITORY

pytestmark = pytest.mark.subprocess

ROLES = """\
red-devs: {team: red}
red-leads: {team: red, role: approver}
green-devs: {team: green}
platform: {platform: true}
"""
SECRET = "a-client-secret-of-tests"
Begin = Callable[..., str]


@contextmanager
def provider(fault: str = "") -> Iterator[str]:
    words = [sys.executable, "-W", "ignore", "-m", "tests.portal.provider", fault]
    env = {**os.environ, "AUTHLIB_INSECURE_TRANSPORT": "1"}
    with subprocess.Popen(
        words, cwd=REPOSITORY, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as ran:
        try:
            assert ran.stdout
            yield ran.stdout.readline().strip()
        finally:
            ran.kill()


def configure(issuer: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.conf import settings

    (folder / "secret").write_text(SECRET)
    (folder / "roles.yaml").write_text(ROLES)
    given = {"ISSUER": issuer, "CLIENT": "portal"}
    given |= {"SECRET_FILE": str(folder / "secret"), "ROLES_FILE": str(folder / "roles.yaml")}
    monkeypatch.setattr(settings, "OIDC", given)


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider() as address:
        yield address


@pytest.fixture
def signing_in(issuer: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    configure(issuer, tmp_path, monkeypatch)
    return issuer


def at_provider(client: Client, login: str, groups: str, **more: str) -> str:
    """Go to the provider as the page says, sign in there, and return the address that it sends the browser to."""
    answer = client.get("/oidc/sign-in/")
    assert answer.status_code == 302, answer.content
    back = httpx.get(
        answer["Location"],
        params=parse_qs(urlsplit(answer["Location"]).query) | {"login": login, "groups": groups} | more,
    )
    assert back.status_code == 302, back.text
    return back.headers["Location"].removeprefix("http://testserver")


def sign_in(login: str, groups: str, client: Client | None = None, **more: str) -> tuple[Client, Any]:
    client = client or Client()
    return client, client.get(at_provider(client, login, groups, **more))


def roles(name: str) -> dict[str, str]:
    from portal.models import Membership

    return {each.team.name: each.role for each in Membership.objects.filter(user__username=name)}


def test_a_person_signs_in_with_the_teams_of_the_groups(signing_in: str) -> None:
    client, answer = sign_in("carol", "red-devs red-leads others")
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert "carol" in client.get("/").content.decode()
    assert roles("carol") == {"red": "approver"}
    assert 'href="/oidc/sign-in/"' in Client().get("/sign-in/").content.decode()


def test_the_request_at_the_provider_has_pkce_and_the_portal_keeps_the_verifier(signing_in: str) -> None:
    location = Client().get("/oidc/sign-in/")["Location"]
    query = parse_qs(urlsplit(location).query)
    assert query["code_challenge_method"] == ["S256"]
    assert {"code_challenge", "nonce", "state"} <= query.keys()
    assert SECRET not in location
    assert "code_verifier" not in location


def test_roles_follow_the_groups_at_each_sign_in(signing_in: str) -> None:
    from portal.models import Event, User

    sign_in("carol", "red-leads platform")
    assert User.objects.get(username="carol").is_superuser
    client, _ = sign_in("carol", "green-devs")
    found = User.objects.get(username="carol")
    assert (found.is_platform, found.is_staff, found.is_superuser) == (False, False, False)
    assert roles("carol") == {"green": "member"}
    assert client.get("/audit.jsonl").status_code == 404
    assert Event.objects.filter(action="person.roles", actor="carol").count() == 2
    sign_in("carol", "green-devs")
    assert Event.objects.filter(action="person.roles").count() == 2, "nothing changed"


@pytest.mark.parametrize(
    ("login", "groups", "said"),
    [
        ("carol", "others", "None of your groups"),
        ("alice", "red-devs", "another account called alice"),
        ("ALICE", "red-devs", "another account called ALICE"),
        ("service-red-ci", "red-devs", "no usable name"),
        ("<b>", "red-devs", "no usable name"),
    ],
)
def test_a_refused_person_is_told_the_reason(login: str, groups: str, said: str, signing_in: str) -> None:
    client, answer = sign_in(login, groups)
    assert answer.status_code == 403
    assert said in answer.content.decode()
    assert client.get("/").status_code == 302


def test_an_account_belongs_to_the_subject_not_to_the_name(signing_in: str) -> None:
    from portal.models import User

    sign_in("carol", "red-devs", sub="1")
    assert sign_in("carol", "red-devs", sub="2")[1].status_code == 403
    assert sign_in("renamed", "red-devs", sub="1")[1].status_code == 302
    assert not User.objects.filter(username="renamed").exists()
    User.objects.filter(username="carol").update(is_active=False)
    assert "switched off" in sign_in("carol", "red-devs", sub="1")[1].content.decode()


def test_an_answer_to_the_request_of_another_browser_is_refused(signing_in: str) -> None:
    victim, attacker = Client(), Client()
    back = at_provider(attacker, "mallory", "red-devs")
    assert victim.get(back).status_code == 403
    assert victim.get("/").status_code == 302
    assert attacker.get(back).status_code == 302
    assert attacker.get(back).status_code == 403, "a code works once"


@pytest.mark.parametrize("fault", ["issuer", "audience", "key", "nonce", "expired"])
def test_a_wrong_identity_token_signs_nobody_in(
    fault: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal.models import User

    with provider(fault) as address:
        configure(address, tmp_path, monkeypatch)
        client, answer = sign_in("carol", "red-devs")
    assert answer.status_code == 403
    assert client.get("/").status_code == 302
    assert not User.objects.filter(username="carol").exists()


def test_a_provider_that_does_not_answer_leads_back_to_the_sign_in(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure("http://127.0.0.1:9", tmp_path, monkeypatch)
    answer = Client().get("/oidc/sign-in/")
    assert (answer.status_code, "try again" in answer.content.decode()) == (403, True)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ISSUER": "http://login.example.com"}, "must begin with https://"),
        ({"CLIENT": ""}, "MULLION_PORTAL_OIDC_CLIENT"),
        ({"ROLES_FILE": "{folder}/none"}, "No such file"),
        ({"roles": "x: {team: red, platform: true}"}, "either"),
        ({"roles": "x: {team: Red}"}, "write a-z"),
        ({"roles": "x: {team: red, role: king}"}, "king"),
        ({"roles": "[]"}, "no attribute"),
    ],
)
def test_wrong_settings_are_named(changed: dict[str, str], said: str, data: Path, tmp_path: Path) -> None:
    from portal import oidc

    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "roles.yaml").write_text(changed.pop("roles", ROLES))
    given = {"ISSUER": "https://x", "CLIENT": "portal", "SECRET_FILE": f"{tmp_path}/secret"}
    given |= {"ROLES_FILE": f"{tmp_path}/roles.yaml"} | {
        key: value.format(folder=tmp_path) for key, value in changed.items()
    }
    with pytest.raises(ImproperlyConfigured, match=said):
        oidc.read(given)
