"""The button of the cluster's page in Debian's Chromium: the browser makes the key, and the download is a kubeconfig.

The browser is `chromium` on PATH (`apt-get install chromium`).
"""

import base64
import os
import shutil
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml
from playwright.sync_api import Page, Request, sync_playwright

from tests.portal.conftest import PASSWORD
from tests.portal.test_changes import SignIn, built
from tests.portal.test_kubeconfig import inquiry, issuing, subject
from tests.portal.test_request import portal_server

__all__ = ["issuing", "portal_server"]  # fixtures
pytestmark = pytest.mark.lab


@pytest.fixture
def page(portal_server: str, sign_in: SignIn, missing: Callable[[str, str], NoReturn]) -> Iterator[Page]:
    """Return the page of a built cluster, as its owner sees it."""
    path = shutil.which("chromium") or missing("browser", "there is no chromium; apt-get install chromium")
    built(sign_in("alice"))
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=arguments)
        found = browser.new_page()
        found.goto(f"{portal_server}/sign-in/?next=/clusters/red-one/")
        found.fill("[name=username]", "alice")
        found.fill("[name=password]", PASSWORD)
        found.press("[name=password]", "Enter")
        found.wait_for_url("**/clusters/red-one/")
        yield found
        browser.close()


def apart(what: Callable[[], Any]) -> Future[Any]:
    """Call a function in a thread of its own: the browser's driver keeps an event loop here, in which Django refuses
    calls of the database.
    """
    from django.db import connection

    def called() -> Any:
        try:
            return what()
        finally:
            connection.close()

    with ThreadPoolExecutor() as threads:
        return threads.submit(called)


def _answer() -> Any:
    """Answer the inquiry that waits, as a worker of the queue does."""
    from portal import inquiries

    inquiries.run.call(inquiry().pk)
    return inquiry().answer


def test_the_browser_makes_the_key_and_saves_a_kubeconfig(page: Page, issuing: list[list[str]], data: Path) -> None:
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request))
    with page.expect_response("**/clusters/red-one/kubeconfig/"):
        page.click("text=Get a kubeconfig")
    answer = apart(_answer).result()
    link = page.wait_for_selector("output a[download]", timeout=60_000)
    with page.expect_download() as saved:
        assert link
        link.click()
    assert saved.value.suggested_filename == "red-one.kubeconfig"
    document = yaml.safe_load(Path(saved.value.path()).read_text("utf-8"))
    assert document["clusters"][0]["cluster"]["server"] == answer["server"]
    user = document["users"][0]["user"]
    certificate, key = (base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key"))
    assert subject(certificate.decode())[0] == "mullion:alice"
    pair = data / "pair.pem"
    pair.write_bytes(certificate + key)
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(pair)
    posted = [each.post_data_buffer or b"" for each in sent]
    assert any(b"BEGIN PUBLIC KEY" in each for each in posted)
    assert not any(b"PRIVATE KEY" in each for each in posted)


def test_the_end_of_a_test_does_not_lose_the_key_that_waits(page: Page, issuing: list[list[str]]) -> None:
    from portal.models import Cluster, Inquiry, User

    def begin() -> None:
        whom = {"cluster": Cluster.objects.get(), "asked_by": User.objects.get(username="alice")}
        Inquiry.objects.create(kind="verify", state="running", **whom)

    apart(begin).result()
    page.reload()
    page.wait_for_selector("#state[data-runs=yes]")
    with page.expect_response("**/clusters/red-one/kubeconfig/"):
        page.click("text=Get a kubeconfig")
    apart(lambda: Inquiry.objects.filter(kind="verify").update(state="failed")).result()
    page.wait_for_selector("#state[data-runs=no]")
    page.wait_for_timeout(1000)  # in which the page would be loaded again
    apart(_answer).result()
    assert page.wait_for_selector("output a[download]", timeout=20_000)


def test_the_page_says_why_there_is_none(page: Page) -> None:
    from portal.models import Cluster

    apart(lambda: Cluster.objects.update(state="removing")).result()
    page.click("text=Get a kubeconfig")
    page.wait_for_selector("output:has-text('red-one is not built.')", timeout=20_000)
