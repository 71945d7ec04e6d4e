"""Notices by mail and webhook: a real SMTP server and a web server on loopback, and what happens without them."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.utils import timezone

from tests.portal.test_changes import built
from tests.portal.test_pages import ask, cluster

SignIn = Callable[[str], Client]


class Mails:
    """Keeps the mails that the server takes; refuses them while `refuses` is set."""

    def __init__(self) -> None:
        self.kept: list[tuple[list[str], Any]] = []
        self.refuses = False

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.refuses:
            return "451 later"
        self.kept.append((envelope.rcpt_tos, message_from_bytes(envelope.content)))
        return "250 taken"

    def subjects(self) -> list[str]:
        return [str(mail["Subject"]) for _, mail in self.kept]


@pytest.fixture
def mails(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mails]:
    """An SMTP server, the portal's settings for it, and people with addresses."""
    from portal import notice_ways
    from portal.models import User

    for user in User.objects.all():
        user.email = f"{user.username}@example.com"
        user.save()
    kept = Mails()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Controller(kept, hostname="127.0.0.1", port=port)
    server.start()
    monkeypatch.setenv("MULLION_PORTAL_MAIL", f"smtp://127.0.0.1:{port}")
    monkeypatch.setenv("MULLION_PORTAL_MAIL_FROM", "portal@example.com")
    notice_ways.configured.cache_clear()
    yield kept
    server.stop()
    notice_ways.configured.cache_clear()


@pytest.fixture
def webhook(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """A web server that keeps what is posted to it; the third answer and later ones are redirects."""
    from portal import notice_ways

    posted: list[Any] = []

    class Taker(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posted.append((self.path, json.loads(body)))
            self.send_response(200 if len(posted) < 3 else 302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Taker)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    (tmp_path / "webhook").write_text(f"http://127.0.0.1:{server.server_port}/a-secret-path\n")
    monkeypatch.setenv("MULLION_PORTAL_WEBHOOK_FILE", str(tmp_path / "webhook"))
    notice_ways.configured.cache_clear()
    yield posted
    server.shutdown()
    thread.join(10)
    server.server_close()
    notice_ways.configured.cache_clear()


def test_a_request_that_waits_is_mailed_to_those_who_may_decide_and_the_decision_to_the_person(
    sign_in: SignIn, mails: Mails
) -> None:
    from portal import notices
    from portal.models import Notice, User

    User.objects.create(username="eve", email="a@example.com\nBcc: b@example.com", is_platform=True)
    ask(sign_in("alice"), hours="48")
    assert mails.kept == [], "a page does not wait for the mail server"
    assert (notices.send(), mails.subjects()) == (1, ["red-one waits for approval"])
    [(to, mail)] = mails.kept
    assert to == ["pat@example.com"], "alice asked, and bob is in another team"
    text = mail.get_payload()
    assert "alice of team red" in text
    assert "it lives longer than 24 hours" in text
    assert "http://127.0.0.1:8400/clusters/red-one/" in text
    sign_in("pat").post("/clusters/red-one/refuse/")
    notices.send()
    assert (mails.kept[-1][0], mails.subjects()[-1]) == (["alice@example.com"], "red-one is refused")
    assert "pat has refused" in mails.kept[-1][1].get_payload()
    assert not Notice.objects.exists()


def test_a_failed_job_and_a_near_expiry_are_told_once(sign_in: SignIn, mails: Mails) -> None:
    from portal import notices, upkeep
    from portal.models import Cluster, Job

    built(sign_in("alice"))
    assert notices.expiring() == []
    Cluster.objects.update(expires=timezone.now() + timedelta(hours=1))
    assert [each.name for each in notices.expiring()] == ["red-one"]
    assert notices.expiring() == []
    Cluster.objects.update(expires=timezone.now() + timedelta(hours=1, minutes=30))
    assert len(notices.expiring()) == 1, "it was extended, and expires soon again"
    Job.objects.update(state="running", attempt=upkeep.MOST_ATTEMPTS, beat=timezone.now() - timedelta(minutes=1))
    upkeep.recover()
    notices.send()
    assert mails.subjects() == ["red-one expires soon", "red-one expires soon", "red-one: up failed"]


def test_a_mail_server_that_refuses_is_tried_again_later_and_at_last_given_up(sign_in: SignIn, mails: Mails) -> None:
    from portal import notices
    from portal.models import Notice

    mails.refuses = True
    ask(sign_in("alice"), hours="48")
    assert notices.send() == 0
    assert notices.send() == 0, "not due yet"
    [row] = Notice.objects.all()
    assert (row.tries, "451" in row.error, row.due > timezone.now()) == (1, True, True)
    for _ in range(notices.MOST_TRIES + 1):
        Notice.objects.update(due=timezone.now())
        notices.send()
    [row] = Notice.objects.all()
    assert row.tries == notices.MOST_TRIES
    mails.refuses = False
    assert (notices.send(), mails.kept) == (0, [])


def test_a_webhook_gets_a_text_and_no_redirect_is_followed_nor_its_address_shown(
    sign_in: SignIn, webhook: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    from portal import notices
    from portal.models import Notice

    client = sign_in("alice")
    for name in ("one", "two"):
        ask(client, name=name, hours="48")
    assert notices.send() == 2
    assert [path for path, _ in webhook] == ["/a-secret-path"] * 2
    assert set(webhook[0][1]) == {"text"}
    assert "red-one" in webhook[0][1]["text"]
    sign_in("pat").post("/clusters/red-two/refuse/")
    assert notices.send() == 0
    [row] = Notice.objects.all()
    assert row.error == "HTTPError it answered 302"
    assert len(webhook) == 3
    assert "a-secret-path" not in f"{caplog.text} {row.error}"


def test_without_a_way_nothing_is_written(sign_in: SignIn) -> None:
    from portal.models import Notice

    ask(sign_in("alice"), hours="48")
    assert cluster().state == "asked"
    assert not Notice.objects.exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"MAIL": "http://mail"}, "smtp://HOST:587"),
        ({"MAIL": "smtp://mail:587"}, "sender's mail address"),
        ({"MAIL": "smtp://mail:587", "MAIL_FROM": "a@b", "MAIL_USER": "u"}, "or neither"),
        ({"MAIL": "smtp://user:secret@mail:587", "MAIL_FROM": "a@b"}, "smtp://HOST:587"),
        ({"MAIL": "smtp://mail:x", "MAIL_FROM": "a@b"}, "no URL with a host"),
        ({"WEBHOOK_FILE": "/nowhere"}, "No such file"),
    ],
)
def test_wrong_settings_end_the_start_with_the_name_of_the_variable(
    settings: dict[str, str], said: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal import notice_ways

    for name, value in settings.items():
        monkeypatch.setenv(f"MULLION_PORTAL_{name}", value)
    notice_ways.configured.cache_clear()
    with pytest.raises(ImproperlyConfigured, match="MULLION_PORTAL_") as raised:
        notice_ways.configured()
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_webhook_over_plain_http_is_refused_without_showing_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal import notice_ways

    (tmp_path / "webhook").write_text("http://chat.example.com/a-secret-path")
    monkeypatch.setenv("MULLION_PORTAL_WEBHOOK_FILE", str(tmp_path / "webhook"))
    notice_ways.configured.cache_clear()
    with pytest.raises(ImproperlyConfigured, match="https") as raised:
        notice_ways.configured()
    assert "a-secret-path" not in str(raised.value)
