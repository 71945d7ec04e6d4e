"""From the network between a machine and the services that it asks: whoever answers in their place, or forwards.

The stores, mirrors, proxies and publishers of keys of these tests are somebody else's; they record what reached them.
"""

import base64
import hashlib
import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.machine.bundle import Bundle, bundle
from components.machine.user_data import document
from components.node.plan import NodePlan
from sandbox.boot.windows.winpwsh import FOLDER, Machine
from tests.attacks.foreign_servers import Asking, answering, first_line, intercepting
from tests.cloud_init.cloud import EACH_CLOUD, FakeCloud
from tests.cloud_init.linux import Execute, loader_of_user_data
from tests.cloud_init.test_windows_loader import LOG, made_of, store
from tests.cloud_init.windows import first_boot, place, tell
from tests.conformance import authority

CERTIFICATES = ("foreign", "other", "over")
"""Of another authority with the same name; of another host; expired (authority.server_context)."""
GOOD, EVIL = b"the file of the publisher", b"the file of the thief"
PATH = "opt/bin/program"


def of(text: str) -> Bundle:
    """Return a bundle whose executor has this text."""
    return bundle(NodePlan("worker", "linux", "ubuntu-22.04", ()), {"node.py": text.encode()})


OLDER, NEWER = of("print('older')\n"), of("print('newer')\n")


def artifact(url: str, **fields: Any) -> dict[str, Any]:
    """Return the step that downloads GOOD from this address."""
    digest = f"sha256:{hashlib.sha256(GOOD).hexdigest()}"
    return {"kind": "artifact", "url": url, "digest": digest, "path": f"/{PATH}", "retries": 0, **fields}


def trusting() -> dict[str, Any]:
    """Return the plan's fields with which the executor trusts the test's authority."""
    return {"egress": {"trusted_cas": [authority.pem(authority.authority())]}}


@pytest.mark.subprocess
@pytest.mark.parametrize("certificate", CERTIFICATES)
def test_a_store_with_a_foreign_certificate_gets_no_request(cloud: FakeCloud, tmp_path: Path, certificate: str) -> None:
    """Answer for the bundle store with a certificate of another authority, for another host, or an expired one.

    Refused by: the loader, before it sends its credentials.
    Seen in: the machine: `journalctl -u mullion`, as CERTIFICATE_VERIFY_FAILED with the address.
    """

    def give(asking: Asking) -> None:
        asking.say(200, NEWER.content)

    with answering(give, "good") as own:
        loader = loader_of_user_data(tmp_path, cloud, f"{own.url}/{NEWER.key}", NEWER.sha256)
        assert first_line(loader, tmp_path) == f"mullion: bundle {NEWER.sha256} is current\n"
        assert [path for path, _ in own.asked] == [f"/{NEWER.key}"], "a store of the system's authorities is asked"
    (tmp_path / "installed").unlink()
    with answering(give, certificate) as foreign:
        loader = loader_of_user_data(tmp_path, cloud, f"{foreign.url}/{OLDER.key}", OLDER.sha256)
        line = first_line(loader, tmp_path)
        assert f"mullion: {foreign.url}/{OLDER.key}: " in line and "CERTIFICATE_VERIFY_FAILED" in line
        assert foreign.asked == []


@pytest.mark.subprocess
def test_an_older_bundle_is_not_unpacked(cloud: FakeCloud, tmp_path: Path) -> None:
    """Record the answer of the bundle store, and give it to a later machine.

    Refused by: the loader, by the digest in user-data.
    Seen in: the machine: `journalctl -u mullion`, as `it was changed or is another one` with both digests.
    """
    with answering(lambda asking: asking.say(200, OLDER.content), "good") as foreign:
        loader = loader_of_user_data(tmp_path, cloud, f"{foreign.url}/{NEWER.key}", NEWER.sha256)
        line = first_line(loader, tmp_path)
    assert line.startswith(f"mullion: the bundle has sha256 {OLDER.sha256}, not {NEWER.sha256}: it was changed or")
    assert not (tmp_path / "current").exists() and not (tmp_path / "bundles").exists()


@EACH_CLOUD
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_credentials_of_a_machine_do_not_follow_a_redirect(
    cloud: FakeCloud,
    loader: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    status: int,
) -> None:
    """Redirect a machine's request for its bundle to a server of yours, which the signature or token would reach.

    Refused by: the loader, which follows no redirect of a signed request.
    Seen in: the machine: `journalctl -u mullion`, as `HTTP Error 307` or another status from 301 to 308.
    """

    def waits(seconds: float) -> None:
        raise TimeoutError(seconds)

    monkeypatch.setattr(loader.time, "sleep", waits)
    with answering(lambda asking: asking.say(200, NEWER.content)) as foreign:

        def redirect(asking: Asking) -> None:
            asking.say(status, Location=f"{foreign.url}/stolen")

        with answering(redirect) as own:
            told = document(f"{own.url}/{NEWER.key}", NEWER.sha256, {"name": "linux-0"}, cloud.facts)
            (tmp_path / "machine.json").write_text(json.dumps(told))
            with pytest.raises(TimeoutError):
                loader.main(tmp_path)
        assert f"HTTPError: HTTP Error {status}" in capsys.readouterr().out
        assert len(own.asked) == 1 and "authorization" in own.asked[0][1]
        assert foreign.asked == []


@pytest.mark.windows
@pytest.mark.subprocess
def test_credentials_of_a_windows_machine_do_not_follow_a_redirect(machine: Machine, cloud: FakeCloud) -> None:
    """Redirect a Windows machine's request for its bundle to a server of yours.

    Refused by: the loader, which follows no redirect of a signed request.
    Seen in: the machine: `redirects, with status` in C:\\ProgramData\\mullion\\loader.log.
    """
    made = store(cloud, made_of("first"))
    with answering(lambda asking: asking.say(200, made.content)) as foreign:
        cloud.services.faults.plan("s3 GET *", "redirect", f"{foreign.url}/stolen")
        assert machine.pwsh(first_boot(tell(machine, cloud, made)))[0] == 7, "the store itself answers the next try"
        assert "redirects, with status 30" in machine.path(LOG).read_text()
        assert foreign.asked == []


@pytest.mark.parametrize("certificate", CERTIFICATES)
def test_a_mirror_with_a_foreign_certificate_gives_no_download(execute: Execute, root: Path, certificate: str) -> None:
    """Answer for a download's server with a certificate of another authority, for another host, or an expired one.

    Refused by: the executor, 207 certificate-refused.
    Seen in: the status record, as E207 certificate-refused with the address.
    """
    with answering(lambda asking: asking.say(200, GOOD), certificate) as foreign:
        result = execute(artifact(f"{foreign.url}/a"), **trusting())
        assert result["name"] == "certificate-refused" and f"{foreign.url}/a: " in result["message"]
        assert foreign.asked == []
    assert not (root / PATH).exists()


def test_a_download_is_not_redirected_to_plain_http(execute: Execute, root: Path) -> None:
    """Be the server of a download, and redirect from https to http, where others can read and change the answer.

    Refused by: the executor, 208 redirect-refused.
    Seen in: the status record, as E208 redirect-refused with both addresses.
    """
    with answering(lambda asking: asking.say(200, GOOD)) as plain:

        def redirect(asking: Asking) -> None:
            asking.say(302, Location=f"{plain.url}/b")

        with answering(redirect, "good") as mirror:
            result = execute(artifact(f"{mirror.url}/a"), **trusting())
        assert result["name"] == "redirect-refused"
        assert f"{mirror.url}/a redirects to {plain.url}/b" in result["message"]
        assert plain.asked == []
    assert not (root / PATH).exists()


def test_a_download_that_is_redirected_gives_neither_credentials_nor_other_bytes(execute: Execute, root: Path) -> None:
    """Redirect a download to another host, which answers with another program, and wait for credentials there.

    Refused by: the executor, 202 digest-mismatch; it sends no credentials with downloads.
    Seen in: the status record, as E202 digest-mismatch with both digests.
    """
    with answering(lambda asking: asking.say(200, EVIL)) as foreign:

        def redirect(asking: Asking) -> None:
            asking.say(307, Location=f"{foreign.url}/b")

        with answering(redirect) as mirror:
            result = execute(artifact(f"{mirror.url}/a"))
        assert result["name"] == "digest-mismatch" and hashlib.sha256(EVIL).hexdigest() in result["message"]
        sent = [*mirror.asked, *foreign.asked]
    assert [path for path, _ in sent] == ["/a", "/b"]
    assert {name for _, headers in sent for name in headers} <= {"host", "user-agent", "accept-encoding", "connection"}
    assert not (root / PATH).exists()


def test_endless_bytes_of_a_mirror_do_not_fill_the_disk(
    execute: Execute, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answer a download without an end, so that the disk of a control plane is full during an upgrade.

    Refused by: the executor, 201 download-failed: after the size in the plan, otherwise after 2 GiB.
    Seen in: the status record, as E201 download-failed with `larger than` and the limit.
    """
    artifacts = importlib.import_module("kinds.artifacts")
    assert artifacts.LARGEST == 2 << 30
    monkeypatch.setattr(artifacts, "LARGEST", 3 << 20)
    with answering(Asking.say_endlessly) as mirror:
        for limit, fields in ((3 << 20, {}), (len(GOOD), {"size": len(GOOD)})):
            result = execute(artifact(f"{mirror.url}/a", **fields))
            assert result["name"] == "download-failed" and f"larger than {limit} bytes" in result["message"]
            assert not [*(root / PATH).parent.iterdir()], "no part is left"


@pytest.mark.windows
@pytest.mark.subprocess
def test_endless_bytes_of_a_mirror_do_not_fill_the_disk_of_windows(machine: Machine, cloud: FakeCloud) -> None:
    """Answer a Windows machine's download without an end.

    Refused by: the executor, 201 download-failed: after the size in the plan, otherwise after 2 GiB.
    Seen in: the status record, as E201 download-failed with `larger than` and the limit.
    """
    with answering(Asking.say_endlessly) as mirror:
        step = artifact(f"{mirror.url}/a", path=r"C:\programs\program.exe", name="a", timeout_seconds=60)
        place(machine, cloud, [step])
        script = machine.path(rf"{FOLDER}\modules\downloads.ps1")
        limited = script.read_text().replace("$LargestDownload = 2GB", "$LargestDownload = 3MB")
        assert limited != script.read_text()
        script.write_text(limited)
        machine.node()
    result = json.loads(machine.path(r"C:\ProgramData\mullion\result.json").read_text("utf-8-sig"))
    assert result["name"] == "download-failed" and f"larger than {3 << 20} bytes" in result["message"]
    assert not [*machine.path(r"C:\programs").iterdir()], "no part is left"


def test_a_truncated_download_and_a_foreign_rest_are_not_installed(execute: Execute, root: Path) -> None:
    """End a download early, and answer the request for the rest with bytes of yours.

    Refused by: the executor, 201 download-failed; by the digest it discards the part with that rest, and starts again.
    Seen in: the status record, as E201 download-failed with both lengths.
    """
    half = len(GOOD) // 2

    def cut(asking: Asking) -> None:
        begin = asking.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-")
        if begin == "0":
            asking.say(200, GOOD[:half], len(GOOD), ETag='"1"')
            asking.close_connection = True
        else:
            whole = half + len(EVIL)
            asking.say(206, EVIL, Content_Range=f"bytes {begin}-{whole - 1}/{whole}")

    with answering(cut) as mirror:
        for _ in range(2):
            result = execute(artifact(f"{mirror.url}/a"))
            assert result["name"] == "download-failed" and f"{half} of {len(GOOD)} bytes" in result["message"]
            assert not (root / PATH).exists()
        assert [headers.get("range") for _, headers in mirror.asked] == [None, f"bytes={half}-", None]


@pytest.mark.parametrize("cloud", ["azure"], indirect=True)
def test_a_proxy_that_opens_tls_reads_no_token(cloud: FakeCloud, node: ModuleType, root: Path) -> None:
    """Be the cluster's proxy, and answer for Azure Resource Manager with a certificate of yours, to read the token.

    Refused by: the agent, by the certificate, before it sends the request.
    Seen in: the agent's log, as CERTIFICATE_VERIFY_FAILED.
    """
    assert node
    for certificate in ("good", *CERTIFICATES):
        with intercepting(certificate) as proxy:
            facts = {**cloud.facts, "compute_way": "proxy", "world": "azure"}
            facts["compute_service"] = "https://downloads.example/subscriptions/s/resourceGroups/g"
            plan = {"phases": [], "egress": {"proxy": {"https": proxy.url}, **trusting()["egress"]}}
            run = importlib.import_module("run").Run(root, {"machine": {}, "facts": facts}, plan)
            run.try_for(20)
            with pytest.raises(OSError, match="." if certificate == "good" else "CERTIFICATE_VERIFY_FAILED"):
                importlib.import_module("clouds.azure").machines(run, {"web-0": "10.20.1.4"})
            read = "".join(text for text, _ in proxy.asked)
        assert ("Authorization: Bearer" in read) is (certificate == "good"), "an authority of the plan may read it"
        assert bool(read) is (certificate == "good")


def test_published_keys_with_a_foreign_certificate_are_not_read(node: ModuleType) -> None:
    """Answer for the publisher of the keys that sign identity tokens, with a key of yours.

    Refused by: the agent, by the certificate; it admits nobody until it can read the keys.
    Seen in: the agent's log and the status record, with CERTIFICATE_VERIFY_FAILED.
    """
    assert node
    tokens = importlib.import_module("identity_tokens")
    header = base64.urlsafe_b64encode(json.dumps({"alg": "RS256", "kid": "mine"}).encode()).decode().rstrip("=")
    mine = json.dumps({"keys": [{"kty": "RSA", "kid": "mine", "n": "AQAB", "e": "AQAB"}]}).encode()
    known: dict[str, Any] = {}
    with answering(lambda asking: asking.say(200, mine), "foreign") as foreign:
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            tokens.read(known, f"{foreign.url}/oauth2/v3/certs", f"{header}.e30.")
        assert foreign.asked == [] and known == {}
