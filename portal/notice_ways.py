"""How notices leave the portal: mail by SMTP, and a webhook of a chat. Settings are environment variables."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import requests
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend

from components.spec.web_addresses import is_loopback

TIMEOUT = 15
"""Timeout of a mail server and of a webhook, in seconds."""
MAIL, WEBHOOK = "mail", "webhook"
FAULTS = (OSError,)
"""Errors of a server that does not take a message: those of smtplib, requests and ssl are kinds of OSError."""


@dataclass(frozen=True)
class Mail:
    """A mail server. tls: `ssl` from the start (smtps), `starttls`, or empty on loopback alone."""

    host: str
    port: int
    tls: str
    sender: str
    user: str
    password: str


@dataclass(frozen=True)
class Ways:
    """What is configured. webhook: a URL, which is a secret; empty without one."""

    mail: Mail | None
    webhook: str


@cache
def configured() -> Ways:
    """Return the configured ways. Raises ImproperlyConfigured for settings that are wrong."""
    return Ways(_mail(), _webhook())


def _mail() -> Mail | None:
    address = os.environ.get("MULLION_PORTAL_MAIL", "")
    if not address:
        return None
    name = "MULLION_PORTAL_MAIL"
    url, sender = _url(name, address), os.environ.get("MULLION_PORTAL_MAIL_FROM", "")
    if url.scheme not in ("smtp", "smtps") or url.username or url.path.strip("/"):
        raise ImproperlyConfigured(f"{name}: write smtp://HOST:587 (STARTTLS) or smtps://HOST:465")
    if "@" not in sender:
        raise ImproperlyConfigured(f"{name}_FROM: write the sender's mail address")
    user, password = os.environ.get(f"{name}_USER", ""), _text(f"{name}_PASSWORD_FILE")
    if bool(user) != bool(password):
        raise ImproperlyConfigured(f"{name}: give both {name}_USER and {name}_PASSWORD_FILE, or neither")
    host = url.hostname or ""
    tls = "ssl" if url.scheme == "smtps" else "" if is_loopback(host) else "starttls"
    return Mail(host, url.port or (465 if tls == "ssl" else 587), tls, sender, user, password)


def _webhook() -> str:
    name = "MULLION_PORTAL_WEBHOOK_FILE"
    text = _text(name)
    if not text:
        return ""
    url = _url(name, text)
    if url.scheme != "https" and not (url.scheme == "http" and is_loopback(url.hostname or "")):
        raise ImproperlyConfigured(f"{name}: the file must have an https URL")
    return text


def _url(name: str, text: str) -> SplitResult:
    """Return the parts of a URL. The error does not show it, because a webhook's URL is a secret."""
    try:
        parts = urlsplit(text)
        if parts.hostname and (parts.port is None or parts.port > 0):
            return parts
    except ValueError:
        pass
    raise ImproperlyConfigured(f"{name}: this is no URL with a host")


def _text(name: str) -> str:
    """Return the text of the file that a variable names; empty without the variable."""
    if not (path := os.environ.get(name, "")):
        return ""
    try:
        text = Path(path).read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise ImproperlyConfigured(f"{name}: {path}: {getattr(error, 'strerror', '') or 'it is not text'}") from None
    if not text:
        raise ImproperlyConfigured(f"{name}: {path} is empty")
    return text


def send_mail(mail: Mail, to: str, subject: str, text: str) -> None:
    """Send a mail. Raises one of FAULTS."""
    server = EmailBackend(
        host=mail.host,
        port=mail.port,
        username=mail.user,
        password=mail.password,
        use_tls=mail.tls == "starttls",
        use_ssl=mail.tls == "ssl",
        timeout=TIMEOUT,
    )
    headers = {"Auto-Submitted": "auto-generated"}
    server.send_messages([EmailMessage(subject, text, mail.sender, [to], headers=headers)])


def send_webhook(url: str, text: str) -> None:
    """Post {"text": ...}, which Slack, Mattermost, Rocket.Chat and Google Chat take. Raises one of FAULTS.

    The errors of requests name the URL, which is a secret: show no text of theirs.
    """
    # stream: the answer's body is not read, however long it is
    answer = requests.post(url, json={"text": text}, timeout=TIMEOUT, allow_redirects=False, stream=True)
    answer.close()
    if not answer.ok or answer.is_redirect:
        raise requests.HTTPError(f"it answered {answer.status_code}")


def link(cluster: str) -> str:
    """Return the address of a cluster's page."""
    return f"{settings.ORIGIN or 'http://127.0.0.1:8400'}/clusters/{cluster}/"
