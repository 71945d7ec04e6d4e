"""Downloads from a faulty server on loopback."""

import itertools
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from operations.downloads import fetch
from tests.conformance.downloads import Downloads, serving
from tests.conformance.state import Fault, Served


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits between tries, without sleeping."""
    waits: list[float] = []
    monkeypatch.setattr(fetch.time, "sleep", waits.append)
    return waits


@pytest.fixture
def downloads() -> Iterator[Downloads]:
    with serving() as here:
        yield here


def served(downloads: Downloads, *faults: Fault, ranges: bool = True) -> tuple[str, str]:
    """Serve a file of about three blocks with these faults; return its address and digest."""
    downloads.serve({"file": Served(size=3_000_000, faults=list(faults), ranges=ranges)}, downloads.urls)
    return f"{downloads.urls['url']}/file", downloads.digest("sha256", "file")


def test_a_file_with_the_right_digest_is_saved_and_no_partial_file_stays(downloads: Downloads, tmp_path: Path) -> None:
    url, digest = served(downloads)
    heard: list[tuple[int, int | None]] = []
    assert fetch.fetch(url, tmp_path / "new" / "f", digest, lambda *each: heard.append(each)) == digest
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["f"]
    assert heard[-1] == (3_000_000, 3_000_000)


def test_a_file_with_a_wrong_digest_does_not_replace_the_existing_one(downloads: Downloads, tmp_path: Path) -> None:
    url, _ = served(downloads)
    (tmp_path / "f").write_text("before")
    with pytest.raises(fetch.WrongDigest, match=f"not sha256:{'0' * 64}"):
        fetch.fetch(url, tmp_path / "f", f"sha256:{'0' * 64}")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["before"], "no part is left of a wrong file"


def test_a_truncated_download_is_resumed(downloads: Downloads, tmp_path: Path) -> None:
    url, digest = served(downloads, Fault(truncate=1_500_000))
    assert fetch.fetch(url, tmp_path / "f", digest) == digest
    assert [each.first for each in downloads.asked] == [0, 1_500_000]


def test_a_download_starts_again_if_the_server_ignores_ranges(downloads: Downloads, tmp_path: Path) -> None:
    url, digest = served(downloads, Fault(truncate=1_500_000), ranges=False)
    assert fetch.fetch(url, tmp_path / "f", digest) == digest
    assert downloads.count("file") == 2


def test_a_partial_file_of_another_version_is_discarded(downloads: Downloads, tmp_path: Path) -> None:
    url, digest = served(downloads)
    (tmp_path / "f.part").write_bytes(b"x" * 1000)
    assert fetch.fetch(url, tmp_path / "f", digest) == digest
    assert [each.first for each in downloads.asked] == [1000, 0]


def test_a_complete_partial_file_is_used_without_a_download(downloads: Downloads, tmp_path: Path) -> None:
    url, digest = served(downloads)
    (tmp_path / "f.part").write_bytes(downloads.files["file"])
    assert fetch.fetch(url, tmp_path / "f", digest) == digest


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_a_temporary_error_is_retried(downloads: Downloads, tmp_path: Path, quick: list[float], status: int) -> None:
    url, digest = served(downloads, Fault(status=status, times=2))
    assert fetch.fetch(url, tmp_path / "f", digest) == digest
    assert quick == [1, 3]


def test_a_permanent_error_is_reported_after_the_retries(downloads: Downloads, tmp_path: Path) -> None:
    url, digest = served(downloads, Fault(status=503, times=9))
    with pytest.raises(fetch.Unreachable, match="/file: HTTP status 503"):
        fetch.fetch(url, tmp_path / "f", digest)
    assert downloads.count("file") == 1 + len(fetch.WAITS)


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_reported_without_retry(downloads: Downloads, tmp_path: Path, status: int) -> None:
    url, digest = served(downloads, Fault(status=status))
    with pytest.raises(fetch.Unreachable, match=str(status)) as refused:
        fetch.fetch(url, tmp_path / "f", digest)
    assert refused.value.status == status
    assert downloads.count("file") == 1


def test_a_stalled_download_is_resumed(downloads: Downloads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "STALLED_SECONDS", 0.3)
    url, digest = served(downloads, Fault(stall=1_100_000))
    assert fetch.fetch(url, tmp_path / "f", digest) == digest


def test_redirects_are_followed(downloads: Downloads, tmp_path: Path) -> None:
    downloads.serve({"file": Served(size=10), "old": Served(faults=[Fault(redirect="$other/file")])}, downloads.urls)
    digest = downloads.digest("sha256", "file")
    assert fetch.fetch(f"{downloads.urls['url']}/old", tmp_path / "f", digest) == digest


def test_a_redirect_from_https_to_http_is_not_followed() -> None:
    request = httpx.Request("GET", "https://one.test/a")
    answer = httpx.Response(302, headers={"Location": "http://two.test/a"}, request=request)
    with pytest.raises(fetch.Unreachable, match="plain http"):
        fetch._refuse_downgrade(answer)


def test_a_redirect_of_a_put_is_refused_because_the_body_would_be_lost(downloads: Downloads, tmp_path: Path) -> None:
    downloads.serve({"old": Served(faults=[Fault(redirect="$other/file")])}, downloads.urls)
    (tmp_path / "f").write_bytes(b"x" * 10)
    with pytest.raises(fetch.Unreachable):
        fetch.send(tmp_path / "f", f"{downloads.urls['url']}/old", {})


@pytest.mark.parametrize("proxy", ["file:///dev/null", "socks5://127.0.0.1:9"])
def test_an_unusable_proxy_is_reported(proxy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(fetch.Unreachable, match="proxy in the environment"):
        fetch.fetch("http://far.test/f", tmp_path / "f", None)


def test_a_refused_connection_is_reported_with_the_address(tmp_path: Path) -> None:
    with pytest.raises(fetch.Unreachable, match=r"http://127\.0\.0\.1:9/f: .*refused") as silent:
        fetch.fetch("http://127.0.0.1:9/f", tmp_path / "f", None)
    assert silent.value.status is None


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/f", "f"])
def test_addresses_other_than_http_and_https_are_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(fetch.Unreachable, match="not an http or https URL"):
        fetch.fetch(url, tmp_path / "f", None)


def test_a_file_larger_than_the_free_space_is_refused_before_a_byte_is_written(
    downloads: Downloads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, digest = served(downloads)
    usage = fetch.shutil.disk_usage(tmp_path)._replace(free=2_000_000)
    monkeypatch.setattr(fetch.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(fetch.NoSpace, match="1 MiB free, but 2 MiB are needed"):
        fetch.fetch(url, tmp_path / "f", digest)
    assert list(tmp_path.iterdir()) == []


def test_a_checksum_file_of_many_megabytes_is_refused(downloads: Downloads) -> None:
    downloads.serve({"file": Served(size=fetch.LARGEST_TEXT + 1)}, downloads.urls)
    with pytest.raises(fetch.Unreachable, match="not a checksum file"):
        fetch.text(f"{downloads.urls['url']}/file")


def test_the_proxy_of_the_environment_is_used(
    downloads: Downloads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served(downloads)
    monkeypatch.setenv("http_proxy", downloads.urls["proxy"])
    digest = downloads.digest("sha256", "file")
    assert fetch.fetch("http://far.test/file", tmp_path / "f", digest) == digest
    assert downloads.count("proxy") == 1


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_password_is_not_sent_to_another_host(elsewhere: bool) -> None:
    heard: list[str | None] = []

    class Moved(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

        def do_GET(self) -> None:
            heard.append(self.headers.get("Authorization"))
            here, _, port = str(self.headers["Host"]).rpartition(":")
            self.send_response(200 if self.path == "/there" else 302)
            self.send_header("Location", f"http://{'localhost' if elsewhere else here}:{port}/there")
            self.send_header("Content-Length", "0")
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Moved) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        fetch.remote_digest(f"http://127.0.0.1:{server.server_port}/", "sha256", {"Authorization": "Basic eA=="})
        server.shutdown()
    assert heard == ["Basic eA==", None if elsewhere else "Basic eA=="]


def test_a_checksum_file_that_arrives_too_slowly_is_refused(
    downloads: Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit without data does not end it, because the server goes on sending single bytes."""
    url, _ = served(downloads)
    clock = itertools.count(0.0, 100.0)
    monkeypatch.setattr(fetch, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda seconds: None))
    with pytest.raises(fetch.Unreachable, match="it is not complete after 120 s"):
        fetch.text(url)
