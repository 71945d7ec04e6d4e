"""`mullion pin` against a publisher on loopback."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from components.catalogue import artifacts
from operations.commands import pin
from operations.console.exits import Exit
from operations.downloads import checksums, entry_file, fetch, publishers
from tests.conformance.downloads import Downloads, serving
from tests.conformance.state import Fault, Served

Mullion = Callable[..., Result]
NAME, VERSION = "runc", "9.9.9"


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Downloads]:
    """A publisher of runc whose downloads are at /runc.amd64, with checksums as runc's are; nothing is waited for."""
    monkeypatch.setattr(fetch.time, "sleep", lambda seconds: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving() as here:
        monkeypatch.setattr(publishers, "url_of", lambda *_: f"{here.urls['url']}/runc.amd64")
        yield here


def publish(publisher: Downloads, listing: str | None = None, **faults: Fault) -> str:
    """Serve runc and its checksum file; return the file's digest."""
    file = Served(text="runc itself", faults=[faults["file"]] if "file" in faults else [])
    digest = hashlib.sha256(b"runc itself").hexdigest()
    listed = Served(
        text=listing if listing is not None else f"{'0' * 64}  runc.arm64\n{digest}  runc.amd64\n",
        faults=[faults["sums"]] if "sums" in faults else [],
    )
    publisher.serve({"runc.amd64": file, "runc.sha256sum": listed}, publisher.urls)
    return digest


def test_a_published_download_becomes_an_entry_with_size_and_source(
    publisher: Downloads, mullion: Mullion, tmp_path: Path
) -> None:
    digest = publish(publisher)
    ended = mullion("pin", NAME, VERSION, "--file", str(tmp_path / "mine.json"))
    assert ended.exit_code == 0, ended.output
    (found,) = json.loads((tmp_path / "mine.json").read_text())
    url = f"{publisher.urls['url']}/runc.amd64"
    assert found == {
        "name": NAME,
        "version": VERSION,
        "os": "linux",
        "url": url,
        "sha256": digest,
        "size": len("runc itself"),
        "source": f"{publisher.urls['url']}/runc.sha256sum",
    }
    assert f"sha256:{digest}" in ended.output


def test_a_system_that_has_its_digest_is_left_out_unless_it_is_asked_for(
    publisher: Downloads, mullion: Mullion, tmp_path: Path
) -> None:
    publish(publisher)
    file = str(tmp_path / "mine.json")
    # cri-dockerd 0.4.3: the catalogue has the digest for Linux, and none for Windows
    digest = f"sha256:{hashlib.sha256(b'runc itself').hexdigest()}"
    words = ("pin", "cri-dockerd", "0.4.3", "--digest", digest, "--file", file)
    assert mullion(*words).exit_code == 0
    assert [entry["os"] for entry in json.loads(Path(file).read_text())] == ["windows"]
    assert mullion(*words, "--os", "linux").exit_code == 0
    assert [entry["os"] for entry in json.loads(Path(file).read_text())] == ["linux", "windows"]
    assert mullion(*words).exit_code == 2, "both have one now: which is meant?"


def test_a_stack_reads_the_pinned_entry(publisher: Downloads, mullion: Mullion, tmp_path: Path) -> None:
    publish(publisher)
    mullion("pin", NAME, VERSION, "--file", str(tmp_path / "mine.json"))
    found = entry_file.known(entry_file.read(tmp_path / "mine.json")).find(NAME, VERSION, "linux")
    assert found.is_pinned
    assert found.size == len("runc itself")


def test_without_the_download_only_the_checksum_file_is_asked_for(
    publisher: Downloads, mullion: Mullion, tmp_path: Path
) -> None:
    publish(publisher)
    ended = mullion("pin", NAME, VERSION, "--no-download", "--file", str(tmp_path / "mine.json"))
    assert ended.exit_code == 0, ended.output
    assert [each.name for each in publisher.asked] == ["runc.sha256sum"]
    assert "size" not in json.loads((tmp_path / "mine.json").read_text())[0]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another file than the checksums say": ({"file": Fault(other="evil")}, ", not sha256:"),
    "no such download": ({"file": Fault(status=404)}, "/runc.amd64: HTTP status 404"),
    "no checksum file": ({"sums": Fault(status=404)}, "HTTP status 404"),
    "checksums of other files": ({"sums": Fault(other=f"{'1' * 64}  runc.arm64")}, "it names runc.arm64"),
    "a page instead of checksums": ({"sums": Fault(other="<html>sign in</html>")}, "has no digest for runc.amd64"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_download_with_another_digest_is_refused_and_the_file_unchanged(
    case: str, publisher: Downloads, mullion: Mullion, tmp_path: Path
) -> None:
    faults, said = REFUSED[case]
    publish(publisher, **faults)
    file = tmp_path / "mine.json"
    file.write_text("[]\n")
    ended = mullion("pin", NAME, VERSION, "--file", str(file))
    assert ended.exit_code == Exit.FAILED
    assert said in ended.output
    assert "Nothing was pinned" in ended.output
    assert file.read_text() == "[]\n"


def test_a_download_without_published_digest_is_pinned_by_a_given_one(
    publisher: Downloads, mullion: Mullion, tmp_path: Path
) -> None:
    digest = publish(publisher, "")
    words = ("pin", NAME, VERSION, "--file", str(tmp_path / "mine.json"), "--digest")
    assert mullion(*words, f"sha256:{'2' * 64}").exit_code == Exit.FAILED
    ended = mullion(*words, digest.upper())
    assert ended.exit_code == 0, ended.output
    assert json.loads((tmp_path / "mine.json").read_text())[0]["source"] == "given to mullion pin"


def test_first_use_trusts_the_download_and_the_entry_records_it(
    publisher: Downloads, mullion: Mullion, tmp_path: Path
) -> None:
    digest = publish(publisher, "nothing of use")
    ended = mullion("pin", NAME, VERSION, "--first-use", "--file", str(tmp_path / "mine.json"))
    assert ended.exit_code == 0, ended.output
    (found,) = json.loads((tmp_path / "mine.json").read_text())
    assert found["sha256"] == digest
    assert "not compared with anything" in found["source"]


def test_an_entry_takes_the_place_of_the_old_one_and_the_others_stay_in_order(
    publisher: Downloads, mullion: Mullion, tmp_path: Path
) -> None:
    publish(publisher)
    file = tmp_path / "mine.json"
    plain = {"os": "linux", "url": "https://one.test/f", "source": "here"}
    others = [
        {"name": "runc", "version": "10.0.0", "sha256": "1" * 64, **plain},
        {"name": NAME, "version": VERSION, "digest": "unknown", **plain},
        {"name": "containerd", "version": "2.9.9", "sha512": "2" * 128, **plain},
    ]
    file.write_text(json.dumps(others))
    assert mullion("pin", NAME, VERSION, "--file", str(file)).exit_code == 0
    found = json.loads(file.read_text())
    assert [(each["name"], each["version"]) for each in found] == [
        ("containerd", "2.9.9"),
        ("runc", "9.9.9"),
        ("runc", "10.0.0"),
    ]
    assert "digest" not in found[1]


def test_the_built_in_file_is_rewritten_unchanged(tmp_path: Path) -> None:
    built_in = Path(artifacts.__file__).with_name("artifacts.json")
    copy = tmp_path / "artifacts.json"
    copy.write_bytes(built_in.read_bytes())
    entry_file.write(copy, entry_file.read(copy), [])
    assert copy.read_text() == built_in.read_text(), (
        "`mullion pin --file components/catalogue/artifacts.json` changes one line"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "not a list of entries"),
        ("[", "Expecting"),
        ('[{"name": "runc"}]', "entry 1, version"),
        ('[{"name": "a", "version": "1", "os": "linux", "url": "https://a.test/b"}]', "entry 1"),
    ],
)
def test_an_invalid_file_is_named_and_unchanged(content: str, said: str, mullion: Mullion, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(content)
    ended = mullion("pin", NAME, VERSION, "--file", str(tmp_path / "mine.json"))
    assert ended.exit_code == Exit.USAGE
    assert said in ended.output
    assert (tmp_path / "mine.json").read_text() == content


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pin",), "give NAME and VERSION"),
        (("pin", "runc"), "give NAME and VERSION"),
        (("pin", "nothing-known", "1.0"), "known: auth-provider-gcp"),
        (("pin", "runc", "1.0", "--os", "beos"), "known:"),
        (("pin", "containerd", "9.9.9", "--digest", "0" * 64), "choose one with --os"),
        (("pin", "runc", "9.9.9", "--digest", "abc"), "is not a digest"),
        (("pin", "image", "web"), "name the stack"),
        (("pin", "--verify", "nothing-known"), "no entry 'nothing-known'"),
    ],
)
def test_ambiguous_or_unknown_arguments_are_refused(
    words: tuple[str, ...], said: str, mullion: Mullion, tmp_path: Path
) -> None:
    ended = mullion(*words, "--file", str(tmp_path / "none.json"))
    assert ended.exit_code == Exit.USAGE
    assert said in " ".join(ended.output.replace("│", " ").split())
    assert not (tmp_path / "none.json").exists()


def test_the_address_of_a_new_version_is_that_of_a_known_one() -> None:
    url = publishers.url_of(artifacts.BUILT_IN, "containerd", "9.8.7", "windows")
    assert url.endswith("/releases/download/v9.8.7/containerd-9.8.7-windows-amd64.tar.gz")


def test_a_release_of_github_gives_the_digest_of_an_asset(
    publisher: Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = f"sha256:{'a' * 64}"
    weak = {"name": "weak.zip", "digest": f"md5:{'a' * 32}"}
    assets = {"assets": [{"name": "x.zip", "digest": digest}, {"name": "old.zip", "digest": None}, weak]}
    publisher.serve({"repos/o/r/releases/tags/v1": Served(text=json.dumps(assets))}, publisher.urls)
    monkeypatch.setattr(publishers, "API", publisher.urls["url"] + "/repos/{owner}/{repository}/releases/tags/{tag}")
    url = "https://github.com/o/r/releases/download/v1/{}"
    assert publishers.published("cri-dockerd", url.format("x.zip")).digest == digest
    for missing in ("old.zip", "new.zip"):
        with pytest.raises(publishers.NotPublished, match=f"no digest for {missing}"):
            publishers.published("cri-dockerd", url.format(missing))
    with pytest.raises(checksums.BadChecksums, match="is not a digest; write sha256"):
        publishers.published("cri-dockerd", url.format("weak.zip"))


def test_a_digest_over_plain_http_is_not_taken(publisher: Downloads, mullion: Mullion, tmp_path: Path) -> None:
    publish(publisher)
    given = ("--checksums", "http://publisher.test/sums")
    ended = mullion("pin", NAME, VERSION, *given, "--file", str(tmp_path / "mine.json"))
    assert ended.exit_code == Exit.FAILED
    assert "http://publisher.test/sums is plain http" in ended.output
    assert (publisher.asked, (tmp_path / "mine.json").exists()) == ([], False)


def test_verify_reports_same_different_and_unreachable_digests(
    publisher: Downloads, mullion: Mullion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = publish(publisher)
    url, gone = f"{publisher.urls['url']}/runc.amd64", "http://127.0.0.1:9/runc.amd64"
    rows = [("1.0.0", url, digest), ("1.0.1", url, "3" * 64), ("1.0.2", gone, "4" * 64), ("1.0.3", gone, "5" * 64)]
    found = [artifacts.Artifact(NAME, version, "linux", at, f"sha256:{hexes}", "") for version, at, hexes in rows]
    monkeypatch.setattr(artifacts.Catalogue, "all", lambda self: tuple(found))
    monkeypatch.setattr(pin, "AT_ONCE", 1)
    ended = mullion("pin", "--verify", NAME, "--file", str(tmp_path / "none.json"))
    assert ended.exit_code == Exit.FAILED
    assert "1 same, 1 differs, 2 unreachable" in ended.output
    assert "differs        runc 1.0.1 linux" in ended.output
    assert "unreachable    runc 1.0.3 linux: not asked, because 127.0.0.1:9 did not answer before" in ended.output
    assert "1.0.0" not in ended.output, "what is the same is only counted"


def test_verify_still_asks_other_hosts_if_one_is_silent(
    publisher: Downloads, mullion: Mullion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest, base = publish(publisher), publisher.urls["url"]
    released = f"{base}/o/r/releases/download/v1/x.zip"
    rows = [("cri-dockerd", released), (NAME, f"{base}/runc.amd64"), ("cri-dockerd", released)]
    found = [artifacts.Artifact(name, "1.0.0", "linux", url, f"sha256:{digest}", "") for name, url in rows]
    monkeypatch.setattr(artifacts.Catalogue, "all", lambda self: tuple(found))
    monkeypatch.setattr(publishers, "API", "http://127.0.0.1:9/{owner}/{repository}/{tag}")
    monkeypatch.setattr(pin, "AT_ONCE", 1)
    ended = mullion("pin", "--verify", "--file", str(tmp_path / "none.json"))
    assert (ended.exit_code, ended.output.splitlines()[-1]) == (0, "1 same, 2 unreachable")


def test_every_checksum_file_is_beside_a_download_that_exists() -> None:
    names = {each.name for each in artifacts.BUILT_IN.all()}
    assert set(publishers.BESIDE) | publishers.RELEASES <= names


def test_a_download_of_another_publisher_is_pinned_by_its_address_and_a_given_digest(
    mullion: Mullion, tmp_path: Path
) -> None:
    file, url = tmp_path / "mine.json", "https://files.example.com/tool.zip"
    words = ("--os", "windows", "--url", url, "--digest", f"sha256:{'2' * 64}", "--no-download", "--file", str(file))
    assert mullion("pin", "tool", "1.0", *words).exit_code == 0
    (entry,) = json.loads(file.read_text())
    assert (entry["os"], entry["url"], entry["sha256"]) == ("windows", url, "2" * 64)
