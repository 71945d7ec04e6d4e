"""Digests of downloads as their publishers give them, and the addresses of the checksum files."""

import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from components.catalogue.artifacts import BUILT_IN, Catalogue
from operations.downloads import fetch
from operations.downloads.checksums import BadChecksums, checked, digest_of

BESIDE: dict[str, tuple[str, ...]] = {
    "kubernetes-node": ("{url}.sha512", "{url}.sha256"),
    "containerd": ("{url}.sha256sum",),
    "cni-plugins": ("{url}.sha256", "{url}.sha512"),
    "crictl": ("{url}.sha256", "{url}.sha512"),
    "runc": ("{folder}/runc.sha256sum",),
    "etcd": ("{folder}/SHA256SUMS",),
    "windows_exporter": ("{folder}/sha256sums.txt",),
}
"""Addresses of checksum files by download: {url} is the download's address, {folder} the part before its last slash."""

RELEASES = frozenset({"flanneld", "flannel-cni-plugin", "cri-dockerd", "azure-acr-credential-provider"})
"""Downloads whose digest only GitHub's release API has (`digest` of an asset, since June 2025)."""

API = "https://api.github.com/repos/{owner}/{repository}/releases/tags/{tag}"


@dataclass(frozen=True)
class Published:
    """A digest and the address it was read from."""

    digest: str
    source: str


class NotPublished(LookupError):
    """No digest is published or reachable. The message lists the addresses tried; silent: no host answered."""

    def __init__(self, message: str, *, silent: bool = False) -> None:
        super().__init__(message)
        self.silent = silent


def url_of(catalogue: Catalogue, name: str, version: str, os: str) -> str:
    """Return the address of a download: that of the newest known version for the system, with `version` in it.

    Raises NotPublished if the download is unknown for the system.
    """
    # prefer built-in entries, so a stack's own entry does not decide where other versions come from
    source = BUILT_IN if BUILT_IN.versions(name, os, pinned=False) else catalogue
    known = source.versions(name, os, pinned=False)
    if not known:
        raise NotPublished(f"no download {name} is known for {os}; pass its address: --url URL")
    newest = known[-1] if version not in known else version
    return source.find(name, newest, os).url.replace(newest, version)


def checksum_urls(name: str, url: str, checksums: str | None = None) -> tuple[str, ...]:
    """Return the addresses of a download's checksum files, in order: the publisher's, or only `checksums`."""
    if checksums:
        return (checksums,)
    if name in RELEASES:
        return (_release(url),)
    return tuple(shape.format(url=url, folder=url.rpartition("/")[0]) for shape in BESIDE.get(name, ()))


def published(
    name: str,
    url: str,
    *,
    checksums: str | None = None,
    algorithm: str = "",
    waits: tuple[int, ...] = fetch.WAITS,
) -> Published:
    """Return the publisher's digest of a download.

    checksums: address of a checksum file from the user. algorithm: skip digests of other algorithms.
    Raises NotPublished, or BadChecksums with the file's address.
    """
    file_name, read = url.rpartition("/")[2], _read if checksums or name not in RELEASES else _from_release
    asked: list[fetch.Unreachable] = []
    others: list[str] = []
    for address in checksum_urls(name, url, checksums):
        if fetch.forgeable(address):
            raise NotPublished(f"{address} is plain http, so others on the network can change its digests; use https")
        try:
            digest = read(address, file_name, waits)
        except fetch.Unreachable as failure:
            asked.append(failure)
            continue
        if digest.startswith(algorithm):
            return Published(digest, address)
        others.append(f"{address} gives no {algorithm} of {file_name}")
    silent = bool(asked) and not others and all(each.status is None for each in asked)
    why = "; ".join([*map(str, asked), *others])
    raise NotPublished(why or f"no publisher of {name}'s digests is known", silent=silent)


def _read(address: str, file_name: str, waits: tuple[int, ...]) -> str:
    """Return the digest in a checksum file. Raises BadChecksums with the file's address."""
    try:
        return digest_of(fetch.text(address, waits=waits), file_name)
    except BadChecksums as error:
        raise BadChecksums(f"{address}: {error}") from None


def _release(url: str) -> str:
    """Return the API's address of a release: https://github.com/OWNER/REPOSITORY/releases/download/TAG/FILE."""
    parts = urlsplit(url).path.strip("/").split("/")
    if len(parts) != 6 or parts[2:4] != ["releases", "download"]:
        raise NotPublished(f"{url} is not the address of a file of a GitHub release")
    return API.format(owner=parts[0], repository=parts[1], tag=parts[4])


def _from_release(address: str, file_name: str, waits: tuple[int, ...]) -> str:
    """Return the digest in a release's description. Raises NotPublished or BadChecksums with its address."""
    content = fetch.text(address, "application/vnd.github+json", waits)
    try:
        digests = {each["name"]: each.get("digest") for each in json.loads(content)["assets"]}
    except (ValueError, KeyError, TypeError):
        raise BadChecksums(f"{address} is not the description of a release") from None
    if not digests.get(file_name):
        raise NotPublished(f"{address} gives no digest for {file_name}; it has {', '.join(digests) or 'no files'}")
    try:
        return checked(str(digests[file_name]))
    except ValueError as error:
        raise BadChecksums(f"{address}: {error}") from None
