"""The web server behind a proxy that speaks https with browsers."""

import threading
from pathlib import Path

import httpx
import pytest
from waitress.server import create_server


@pytest.mark.parametrize(("told", "status"), [("1", 200), ("", 301)])
def test_the_scheme_of_a_proxy_counts_only_if_the_settings_name_the_proxy(
    told: str, status: int, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application

    from portal.__main__ import options

    monkeypatch.setenv("MULLION_PORTAL_BEHIND_PROXY", told)
    monkeypatch.setattr(settings, "SECURE_SSL_REDIRECT", True)
    if told:
        monkeypatch.setattr(settings, "SECURE_PROXY_SSL_HEADER", ("HTTP_X_FORWARDED_PROTO", "https"))
    serving = create_server(get_wsgi_application(), **options(0))
    thread = threading.Thread(target=serving.run)
    thread.start()
    try:
        port = serving.effective_port  # type: ignore[union-attr]
        headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
        answer = httpx.get(f"http://127.0.0.1:{port}/sign-in/", headers=headers, trust_env=False, timeout=60)
    finally:
        serving.close()
        thread.join(10)
    assert answer.status_code == status
