"""Downloads of the machines: their digests, and the stack's own entries."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from components.catalogue.artifacts import BUILT_IN, Artifact, UnknownArtifact, catalogue
from components.checks.check import Check, Finding, Subject, at, error, warning
from components.checks.versions import supported
from components.node.downloads import needed
from components.node.images import pinnable
from components.node.kubeadm import cluster_configuration
from components.node.role import role


def unpinned(subject: Subject) -> tuple[Artifact, ...]:
    """Return the cluster's downloads without a published digest, each once."""
    if not supported(subject):
        return ()
    return tuple(each for each in needed(subject.name, subject.spec) if not each.is_pinned)


def _without_digest(subject: Subject) -> Iterator[Finding]:
    for download in unpinned(subject):
        yield at("artifacts", name=download.name, version=download.version, os=download.os)


def _twice(subject: Subject) -> Iterator[Finding]:
    entries = subject.spec.artifacts.entries
    counts = Counter((each.name, each.version, each.os.value) for each in entries)
    for (name, version, os), count in counts.items():
        if count > 1:
            yield at("artifacts", "entries", name=name, version=version, os=os, count=count)


def _replaced(subject: Subject) -> Iterator[Finding]:
    downloads = catalogue(subject.spec.artifacts)
    for index, entry in enumerate(subject.spec.artifacts.entries):
        name, version, os = entry.name, entry.version, entry.os.value
        own = downloads.own[name, version, os]
        with suppress(UnknownArtifact):
            known = BUILT_IN.find(name, version, os)
            if known.is_pinned and own.digest != known.digest:
                yield at("artifacts", "entries", index, name=name, version=version, os=os, url=own.url)


def _of_another_version(subject: Subject) -> Iterator[Finding]:
    """Find images whose digest is known of other tags only: those of the version before an upgrade."""
    known = subject.spec.artifacts.images
    if not known or not supported(subject):
        return
    tagged = {reference.rpartition(":")[0] for reference in known}
    roles = (role(subject.name, subject.spec, pool) for pool in (None, *subject.spec.pools))
    started = {image for each in roles for image in pinnable(each, cluster_configuration(each))}
    by_tag = sorted(image for image in started if image not in known and image.rpartition(":")[0] in tagged)
    if by_tag:
        yield at("artifacts", "images", images=", ".join(by_tag), stack=subject.name)


REPLACED = "download-replaced"
"""Id of the warning about other bytes under a known name; it stops `up` unless it is acknowledged."""

WITHOUT_DIGEST = "download-without-digest"

CHECKS: tuple[Check, ...] = (
    warning(
        WITHOUT_DIGEST,
        "kubernetes control_plane pools artifacts",
        _without_digest,
        "{name} {version} for {os} has no published digest, so machines cannot check the download; `up` refuses",
        "run: mullion pin {name} {version}",
        "SRV-02",
    ),
    warning(
        REPLACED,
        "artifacts.entries",
        _replaced,
        "{name} {version} for {os} from {url} is not the publisher's: its digest differs from the one in Mullion's"
        " table; `up` stops unless this is acknowledged",
        "remove the entry, or acknowledge it with the reason and who built the file",
        "SRV-02",
    ),
    warning(
        "image-digest-of-another-version",
        "kubernetes control_plane pools kubeadm artifacts",
        _of_another_version,
        "machines start these images by tag, because the digests are of other tags: {images}",
        "run: mullion pin images {stack}",
        "SRV-02",
    ),
    error(
        "artifact-twice",
        "artifacts.entries",
        _twice,
        "{count} entries describe {name} {version} for {os}",
        "keep one of them",
    ),
)
