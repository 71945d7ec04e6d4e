"""From a writer of a store: whoever may write the bundle store or a mirror."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pulumi
import pytest

from components.plan import plan_cluster
from components.plan.images import started_images
from components.rollout.signed_documents import Forged, pointer_document, verified
from components.spec.models import ClusterSpec
from operations.downloads import fetch
from operations.downloads import registry as client
from tests.agent.conftest import KEY
from tests.attacks.test_from_a_replayed_document import BUNDLE, OLD, WANTED, version_of_pools
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.linux import Execute, certificate, fetched, outcomes, put, tar_of
from tests.components.rollout.test_upgrade import warned
from tests.operations.downloads.registries import BOTH, OWN, SIGNED_IN, manifest_list, serving, trusted
from tools.golden.plans import IMAGES, NEWEST

__all__ = ["warned"]


def test_an_authority_beside_the_clusters_is_not_written(execute: Execute, root: Path, cloud: FakeCloud) -> None:
    """Add an authority to ca.crt, so that kubelets accept its clients.

    Refused by: the executor, 202 digest-mismatch.
    Seen in: the status record, as E202 digest-mismatch with the object's address.
    """
    (pem, known), (other, _) = certificate(), certificate()
    step = {"kind": "certificate-authority", "url": f"{cloud.url}/bundles/ca.crt", "hash": known, "path": "/etc/ca.crt"}
    for text in (pem + other, other + pem, other, ""):
        cloud.objects["/bundles/ca.crt"] = text.encode()
        result = execute(step)
        assert result["name"] == "digest-mismatch" and f"{cloud.url}/bundles/ca.crt" in result["message"]
        assert not (root / "etc/ca.crt").exists()


def test_an_authority_on_the_disk_is_taken_out(execute: Execute, root: Path, cloud: FakeCloud) -> None:
    """Add an authority to the file on the machine's disk, and wait for the next boot.

    Refused by: the executor, which writes the file again.
    Seen in: the machine: `result.json` in /var/lib/mullion says that the step was `set`.
    """
    (pem, known), (other, _) = certificate(), certificate()
    step = {"kind": "certificate-authority", "url": f"{cloud.url}/bundles/ca.crt", "hash": known, "path": "/etc/ca.crt"}
    cloud.objects["/bundles/ca.crt"] = pem.encode()
    put(root, "/etc/ca.crt", pem + other)
    assert outcomes(execute(step)) == ["set"]
    assert (root / "etc/ca.crt").read_text() == pem


def test_a_changed_download_is_not_installed(execute: Execute, root: Path, cloud: FakeCloud) -> None:
    """Change a program in the mirror.

    Refused by: the executor, 202 digest-mismatch.
    Seen in: the status record, as E202 digest-mismatch with the address and both digests.
    """
    steps = fetched(cloud, tar_of({"kubelet": b"true"}))
    cloud.objects["/public/a"] = tar_of({"kubelet": b"evil"})
    result = execute(*steps)
    assert result["name"] == "digest-mismatch" and f"{cloud.url}/public/a has sha256:" in result["message"]
    assert not (root / "opt/bin/kubelet").exists()


@pytest.mark.parametrize("name", ["../../etc/cron.d/owned", "/etc/cron.d/owned", "a/../../owned"])
def test_an_archive_cannot_write_outside_of_its_folder(
    name: str, execute: Execute, root: Path, cloud: FakeCloud
) -> None:
    """Publish an archive whose members leave the folder.

    Refused by: the executor, archive-unsafe.
    Seen in: the status record, as E203 archive-unsafe with the member's name.
    """
    result = execute(*fetched(cloud, tar_of({name: b"x"})))
    assert result["name"] == "archive-unsafe" and repr(name) in result["message"]
    assert not list(root.rglob("owned"))


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE], ids=["char", "block", "fifo"])
def test_an_archive_cannot_make_devices(kind: bytes, execute: Execute, root: Path, cloud: FakeCloud) -> None:
    """Publish an archive with a device of the disk.

    Refused by: the executor, archive-unsafe.
    Seen in: the status record, as E203 archive-unsafe with the member's name.
    """
    result = execute(*fetched(cloud, tar_of({"disk": b""}, kind)))
    assert result["name"] == "archive-unsafe" and "'disk' is neither file nor folder" in result["message"]
    assert not (root / "opt/bin/disk").exists()


@pytest.mark.parametrize("key", ["b3RoZXI", ""])
def test_up_does_not_follow_a_forged_pointer(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a pointer with another version while one control-plane machine is silent, to roll all pools.

    Refused by: `up`, by the MAC.
    Seen in: the standard error of `up`: `its MAC does not match the desired-state key`.
    """
    forged = pointer_document(key, *BUNDLE, WANTED, 9, OLD)
    with pytest.raises(pulumi.RunError, match="its MAC does not match the desired-state key"):
        version_of_pools(forged, [WANTED, WANTED], monkeypatch)


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"mac": 1}', 200_000 * "["])
def test_up_takes_no_document_of_another_form(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write JSON of another form, or nested so deep that the reader fails, in the pointer's place.

    Refused by: `up`.
    Seen in: the standard error of `up`: `desired-state.json in the bundle store is refused`.
    """
    with pytest.raises(pulumi.RunError, match=r"desired-state\.json in the bundle store is refused"):
        version_of_pools(text, [WANTED], monkeypatch)


def test_no_field_of_a_signed_document_can_change() -> None:
    """Change one field of a signed pointer.

    Refused by: the MAC over all fields.
    Seen in: the standard error of `up`: `its MAC does not match the desired-state key`.
    """
    document = json.loads(pointer_document(KEY, *BUNDLE, WANTED, 5, WANTED))
    for name in document:
        with pytest.raises(Forged, match="its MAC does not match the desired-state key"):
            verified(KEY, json.dumps({**document, name: "other"}))
    with pytest.raises(Forged):
        verified(KEY, json.dumps({**document, "more": 1}))


def test_the_agent_does_not_follow_a_forged_pointer(module: Callable[[str], ModuleType]) -> None:
    """Write a pointer to another bundle for the control plane.

    Refused by: the agent, by the MAC.
    Seen in: the agent's log and the status record: `the MAC does not match the desired-state key`.
    """
    documents = module("documents")
    forged: Any = json.loads(pointer_document(KEY, *BUNDLE, WANTED, 5, WANTED))
    for changed in (
        {**forged, "bundle": "https://evil.example"},
        {**forged, "serial": 99},
        {**forged, "mac": ""},
    ):
        with pytest.raises(documents.Untrusted, match="the MAC does not match"):
            documents.verified(json.dumps(changed).encode(), KEY, 0, documents.POINTER)


def test_deeply_nested_json_does_not_stop_the_agent(module: Callable[[str], ModuleType]) -> None:
    """Write JSON that is nested so deep that the reader fails, in the place of the pointer or the members list.

    Refused by: the agent.
    Seen in: the agent's log and the status record: `not a signed document`.
    """
    documents = module("documents")
    for fields in (documents.POINTER, documents.MEMBERS):
        with pytest.raises(documents.Untrusted, match="not a signed document"):
            documents.verified(200_000 * b"[", KEY, 0, fields)


def test_a_store_without_a_pointer_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty the pointer: pools must not get a version that nobody wrote.

    Refused by: `up`, which stops unless each control-plane machine reports its version.
    Seen in: the standard error of `up`, which says that the pointer is not a signed document.
    """
    for reported in ([WANTED, WANTED], [OLD]):
        with pytest.raises(pulumi.RunError, match="is refused: it is not a signed document"):
            version_of_pools("", reported, monkeypatch)


def test_a_moved_tag_is_not_started_on_a_pinned_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Move the tag of a container image in a registry or its mirror.

    Refused by: containerd and Docker, which start the digest in the plan of a stack with pinned images.
    Seen in: the report of `mullion sbom`, which has the digests that start.
    """
    monkeypatch.setattr(fetch.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(client, "HOSTS", OWN)
    cluster = {"cloud": "aws", "kubernetes": NEWEST, "pools": {"web": {"os": "windows-2022"}}}
    with serving() as registry:
        registry.everything = BOTH
        ask = [f"{registry.url}/v2"]
        pins = {image: client.digest(image, ["linux", "windows"], ask)[0] for image in IMAGES}
        registry.everything = manifest_list(("windows", "amd64"), ("linux", "amd64"))
        moved = {image: client.digest(image, ["linux", "windows"], ask)[0] for image in IMAGES}
    planned = plan_cluster("dev", ClusterSpec.model_validate({**cluster, "artifacts": {"images": pins}}))
    started = {image for group in planned.machine_groups for image in started_images(planned, group)}
    assert {image.partition("@")[2] for image in started} == set(pins.values())
    assert not set(pins.values()) & set(moved.values())


def test_a_mirror_does_not_choose_the_digest_that_is_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer `mullion pin images` from a mirror with an image of yours.

    Refused by: `mullion pin images`, which asks the registry too; it warns if only a mirror answers.
    Seen in: the standard error of `mullion pin images`: `correct the mirror`.
    """
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted(tmp_path)))
    with serving(tmp_path / "server.pem") as registry, serving() as mirror:
        registry.everything, mirror.everything = BOTH, manifest_list(("windows", "amd64"), ("linux", "amd64"))
        with pytest.raises(client.NoDigest, match="correct the mirror"):
            client.digest(f"{registry.url.removeprefix('https://')}/team/pause:3.10", ["linux"], [mirror.url])


def test_credentials_of_a_registry_are_not_given_to_its_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer `mullion pin images` from a mirror with a challenge, to be sent the registry's password or a token of it.

    Refused by: `mullion pin images`, which signs in to a mirror with the mirror's own credentials, and only over https.
    Seen in: the standard error of `mullion pin images`, with the mirror's answer.
    """
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setattr(fetch.time, "sleep", lambda seconds: None)
    with serving() as mirror:
        (tmp_path / "config.json").write_text(json.dumps({"auths": {"localhost:1": {"auth": SIGNED_IN}}}))
        for mirror.private, mirror.realm in (("Basic", ""), ("Bearer", ""), ("Bearer", "http://tokens.example/token")):
            with pytest.raises(client.NoDigest):
                client.digest("localhost:1/team/pause:3.10", ["linux"], [mirror.url])
    assert {authorization for _, authorization in mirror.asked} == {""}


@pytest.mark.parametrize("scheme", ["Basic", "Bearer"])
def test_credentials_of_a_registry_are_not_given_to_the_server_it_redirects_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """Be the storage to which a registry redirects, and answer with a challenge that names your token server.

    Refused by: `mullion pin images`, which follows challenges only of the host that it asked.
    Seen in: the standard error of `mullion pin images`, with the server's answer.
    """
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setattr(fetch.time, "sleep", lambda seconds: None)
    with serving() as registry, serving() as storage:
        registry.moved, storage.private = storage.url, scheme
        auths = {registry.url.removeprefix("http://"): {"auth": SIGNED_IN}}
        (tmp_path / "config.json").write_text(json.dumps({"auths": auths}))
        with pytest.raises(client.NoDigest, match=r"401|asks for credentials"):
            client.digest("localhost:1/team/pause:3.10", ["linux"], [registry.url])
    assert {authorization for _, authorization in storage.asked} == {""}
