"""Where container images come from: registries, mirrors, and what could answer in a registry's place."""

from collections.abc import Iterator, Mapping
from typing import Any

from components import releases
from components.checks.check import Finding, MachineGroupSpec, Path, Subject, at, warning
from components.checks.user_config import walk
from components.checks.versions import supported
from components.spec.web_addresses import in_clear


def _elsewhere(subject: Subject) -> Iterator[Finding]:
    """Yield places by which images would come from another publisher."""
    cluster = subject.spec.kubeadm.config.get("ClusterConfiguration", {})
    for below, value in walk(cluster):
        if below[-1:] == ("imageRepository",) and isinstance(value, str):
            yield at("kubeadm", "config", "ClusterConfiguration", *below, value=value)
    for group in subject.groups:
        for registry, urls in group.options.containerd.mirrors.items():
            for index, url in enumerate(urls):
                yield at(*group.path, "containerd", "mirrors", registry, index, value=url)
        for below, value in _of_containerd(subject, group):
            yield at(*group.path, "containerd", "config", *below, value=value)


def _of_containerd(subject: Subject, group: MachineGroupSpec) -> Iterator[tuple[Path, Any]]:
    """Yield the values of config.toml that name registries, files with such values, or another pause image."""
    for below, value in walk(group.options.containerd.config):
        if isinstance(value, Mapping | list) or value in (None, ""):
            continue
        if decides_images(subject, below, value):
            yield below, value


def decides_images(subject: Subject, below: Path, value: Any) -> bool:
    """Return whether a value of config.toml decides where images come from."""
    after = below[below.index("registry") + 1 :][:1] if "registry" in below else ()
    named = after in (("mirrors",), ("configs",)) or below[-1:] == ("config_path",) or below[:1] == ("imports",)
    return named or _other_pause(subject, below, value)


def _other_pause(subject: Subject, below: Path, value: Any) -> bool:
    """Return whether a value is a pause image of another repository than the release's."""
    place = below[-1:] == ("sandbox_image",) or below[-2:] == ("pinned_images", "sandbox")
    if not place or not supported(subject):
        return False
    ours = {_repository(releases.pause_image(subject.spec.kubernetes, group.os)) for group in subject.groups}
    return _repository(f"{value}") not in ours


def _repository(image: str) -> str:
    """Return an image without its tag and its digest."""
    place, _, name = image.partition("@")[0].rpartition("/")
    return f"{place}/{name.partition(':')[0]}"


def _in_clear(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        for registry, urls in group.options.containerd.mirrors.items():
            for index, url in enumerate(urls):
                if in_clear(url):
                    yield at(*group.path, "containerd", "mirrors", registry, index, value=url)
        for below, value in walk(group.options.containerd.config):
            if below[-1:] == ("insecure_skip_verify",) and value is True:
                yield at(*group.path, "containerd", "config", *below, value="a server without a valid certificate")
            elif below[-2:-1] == ("endpoint",) and isinstance(value, str) and in_clear(value):
                yield at(*group.path, "containerd", "config", *below, value=value)


def _intercepted(subject: Subject) -> Iterator[Finding]:
    spec = subject.spec
    if spec.proxy is not None and spec.trusted_cas and (address := spec.proxy.https or spec.proxy.http):
        yield at("proxy", value=address)


def _of_another_owner(subject: Subject) -> Iterator[Finding]:
    if subject.spec.network.existing is not None and subject.spec.trusted_cas:
        yield at("trusted_cas")


ELSEWHERE = "images-from-elsewhere"
"""Id of the warning about images of another publisher; it stops `up` unless it is acknowledged."""

UNENCRYPTED = "mirror-unencrypted"
"""Id of the warning about registries without TLS; it stops `up` unless it is acknowledged."""

INTERCEPTED = "proxy-with-authorities"
"""Id of the warning about a proxy that may answer for every server; it stops `up` unless it is acknowledged."""

TRUSTED = "existing-network-with-authorities"
"""Id of the warning about a network whose owner may answer for every server; it stops `up` unless acknowledged."""

CHECKS = (
    warning(
        ELSEWHERE,
        "kubeadm.config <machines>.containerd.mirrors <machines>.containerd.config kubernetes",
        _elsewhere,
        "{value} decides which images machines start, those of the cluster's own programs too: whoever can write there"
        " controls the cluster; `up` stops unless this is acknowledged",
        "remove it, or acknowledge it with the name of the team that runs the registry",
    ),
    warning(
        UNENCRYPTED,
        "<machines>.containerd.mirrors <machines>.containerd.config",
        _in_clear,
        "images come from {value}, so an attacker on the network path can replace them; `up` stops unless this is"
        " acknowledged",
        "give the mirror a certificate, write https, and add its certificate authority to trusted_cas",
    ),
    warning(
        INTERCEPTED,
        "proxy trusted_cas",
        _intercepted,
        "machines send their requests through {value} and trust trusted_cas, so whoever runs the proxy with a key of"
        " these authorities can answer for every registry and read what machines ask the cloud; `up` stops unless this"
        " is acknowledged",
        "remove one of them, or acknowledge it with the name of the team that runs the proxy",
        "OPS-08",
    ),
    warning(
        TRUSTED,
        "network.existing trusted_cas",
        _of_another_owner,
        "machines trust trusted_cas, and their requests pass the existing network, so whoever runs it with a key of"
        " these authorities can answer for every registry and for the cloud; `up` stops unless this is acknowledged",
        "remove trusted_cas, or acknowledge it with the name of the team that runs the network",
        "OPS-08",
    ),
)
