"""`mullion mirror`: to a folder and to a web server, on loopback."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import Result

from components.catalogue.artifacts import Artifact, mirrored
from operations.commands import mirror
from operations.console.exits import Exit
from operations.downloads import fetch
from operations.stacks import stack_files
from tests.conformance.downloads import Downloads, serving
from tests.conformance.state import Fault, Served

Mullion = Callable[..., Result]
NAMES = ("a.zip", "b.tgz", "c.exe")


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch, clone: Path) -> Iterator[Downloads]:
    """Three downloads that the stack `small` is said to need."""
    monkeypatch.setattr(fetch.time, "sleep", lambda seconds: None)
    with serving() as here:
        here.serve({name: Served(size=5000 + place) for place, name in enumerate(NAMES)}, here.urls)
        wanted = tuple(
            Artifact(name, "1", "linux", f"{here.urls['url']}/{name}", here.digest("sha256", name), "")
            for name in NAMES
        )
        monkeypatch.setattr(mirror, "originals", lambda stack: wanted)
        yield here


def place(folder: Path, publisher: Downloads, name: str) -> Path:
    return folder / publisher.urls["url"].partition("://")[2] / name


def test_a_folder_gets_every_download_where_machines_look_for_it(
    publisher: Downloads, mullion: Mullion, tmp_path: Path
) -> None:
    ended = mullion("mirror", str(tmp_path / "m"), "small")
    assert ended.exit_code == 0, ended.output
    assert "3 copied, 0 present already, 0 failed" in ended.output
    for name in NAMES:
        assert place(tmp_path / "m", publisher, name).read_bytes() == publisher.files[name]
    url = f"{publisher.urls['url']}/a.zip"
    assert mirrored(url, "http://m.test") == f"http://m.test/{place(Path(), publisher, 'a.zip')}"


def test_a_file_whose_first_address_fails_comes_from_its_fallback(
    publisher: Downloads, mullion: Mullion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{publisher.urls['url']}/a.zip"
    file = Artifact("a", "1", "linux", url.replace("a.zip", "missing.zip"), publisher.digest("sha256", "a.zip"), "")
    monkeypatch.setattr(mirror, "originals", lambda stack: (replace(file, fallbacks=(url,)),))
    ended = mullion("mirror", str(tmp_path / "m"), "small")
    assert "1 copied, 0 present already, 0 failed" in ended.output
    copied = place(tmp_path / "m", publisher, "missing.zip").read_bytes()
    assert copied == publisher.files["a.zip"], "where machines look for the file: at its first address"


def test_a_second_run_asks_for_nothing(publisher: Downloads, mullion: Mullion, tmp_path: Path) -> None:
    mullion("mirror", str(tmp_path / "m"), "small")
    publisher.forget()
    ended = mullion("mirror", str(tmp_path / "m"), "small")
    assert "0 copied, 3 present already, 0 failed" in ended.output
    assert publisher.asked == []


def test_a_corrupt_file_is_fetched_again(publisher: Downloads, mullion: Mullion, tmp_path: Path) -> None:
    mullion("mirror", str(tmp_path / "m"), "small")
    rotten = place(tmp_path / "m", publisher, "b.tgz")
    rotten.write_bytes(rotten.read_bytes()[:-1] + b"?")
    ended = mullion("mirror", str(tmp_path / "m"), "small")
    assert "1 copied, 2 present already" in ended.output
    assert rotten.read_bytes() == publisher.files["b.tgz"]


def test_failed_downloads_are_named_and_the_others_copied(
    publisher: Downloads, mullion: Mullion, tmp_path: Path
) -> None:
    publisher.faults = {"a.zip": [Fault(other="evil")], "c.exe": [Fault(status=404)]}
    ended = mullion("mirror", str(tmp_path / "m"), "small")
    assert ended.exit_code == Exit.FAILED
    assert "1 copied, 0 present already, 2 failed" in ended.output
    assert "a.zip 1 linux:" in ended.output
    assert "HTTP status 404" in ended.output
    assert not place(tmp_path / "m", publisher, "a.zip").exists(), "a wrong file never gets its final name"
    assert mullion("mirror", str(tmp_path / "m"), "small").exit_code == 0, "the next run does the rest"


class Store(BaseHTTPRequestHandler):
    """A web server that takes PUT."""

    files: dict[str, bytes]
    puts: list[str]
    authorization: list[str | None]
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None: ...

    def do_GET(self) -> None:
        body = self.files.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def do_PUT(self) -> None:
        self.files[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.puts.append(self.path)
        self.authorization.append(self.headers.get("Authorization"))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def store() -> Iterator[tuple[str, type[Store]]]:
    made = type("Store", (Store,), {"files": {}, "puts": [], "authorization": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), made)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/files", made
    server.shutdown()
    server.server_close()


def test_a_web_server_gets_them_once_with_the_password_of_the_netrc_file(
    publisher: Downloads,
    store: tuple[str, type[Store]],
    mullion: Mullion,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, made = store
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ci password s3cret-word\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    ended = mullion("mirror", url, "small")
    assert ended.exit_code == 0, ended.output
    assert sorted(hashlib.sha256(each).hexdigest() for each in made.files.values()) == sorted(
        publisher.digest("sha256", name).partition(":")[2] for name in NAMES
    )
    assert set(made.authorization) == {"Basic Y2k6czNjcmV0LXdvcmQ="}
    assert "s3cret" not in ended.output
    assert "0 copied, 3 present already" in mullion("mirror", url, "small").output
    assert len(made.puts) == 3


def test_an_address_with_a_password_is_refused(publisher: Downloads, mullion: Mullion) -> None:
    ended = mullion("mirror", "http://ci:s3cret@127.0.0.1:9/files", "small")
    assert ended.exit_code == Exit.USAGE
    assert "netrc" in ended.output
    assert "s3cret" not in ended.output


def test_downloads_and_images_of_a_real_stack_are_listed_from_their_publishers(clone: Path) -> None:
    stack = stack_files.load("small")
    own = stack.spec.model_copy(
        update={"artifacts": stack.spec.artifacts.model_copy(update={"mirror": "https://mirror.test/files"})}
    )
    found = mirror.originals(stack.__class__(**{**vars(stack), "spec": own}))
    names = {(each.name, each.os) for each in found}
    assert {("kubernetes-node", "linux"), ("kubernetes-node", "windows"), ("flanneld", "windows")} <= names
    assert not [each.url for each in found if "mirror.test" in each.url]
    images = mirror.images(stack)
    assert "registry.k8s.io/kube-proxy:v1.36.4" in images
    assert any(each.startswith("ghcr.io/flannel-io/flannel:") for each in images)
    assert len([each for each in images if "/pause:" in each]) == 1
