"""Downloads of the machines: their digests, and the stack's own entries."""

from collections import Counter
from collections.abc import Iterator

from components.catalogue.artifacts import Artifact
from components.checks.check import Check, Finding, Subject, at, error, warning
from components.checks.versions import supported
from components.node.downloads import needed


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
    error(
        "artifact-twice",
        "artifacts.entries",
        _twice,
        "{count} entries describe {name} {version} for {os}",
        "keep one of them",
    ),
)
