"""What cannot work with `egress: none`, where machines have no way to the internet."""

from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from components import releases
from components.catalogue import regions
from components.catalogue.artifacts import BUILT_IN, UnknownArtifact
from components.checks.check import Finding, MachineGroupSpec, Rule, Subject, at, error, warning
from components.checks.versions import supported
from components.naming import CONTROL_PLANE
from components.node import images
from components.node.addons import images_on
from components.node.downloads import wanted
from components.node.kubeadm import cluster_configuration
from components.node.mirrors import EVERY
from components.node.role import Role, role
from components.spec.models import ApiAccess, Cloud, Egress, Pool, Runtime
from components.topology.private_endpoints import google_domains

PUBLISHERS = frozenset(urlsplit(url).hostname or "" for each in BUILT_IN.all() for url in (each.url, *each.fallbacks))
"""Hosts of the internet from which machines download without a mirror."""

REGISTRIES = frozenset(
    {
        *("docker.io", "gcr.io", "ghcr.io", "k8s.gcr.io", "mcr.microsoft.com", "public.ecr.aws", "quay.io"),
        "registry.k8s.io",
    }
)
"""Registries of the internet that images of a cluster usually come from."""

ENTRA = "login.microsoftonline.com"
"""Host of the keys of Microsoft Entra ID, which no private link has."""


def _without_egress(rule: Rule) -> Rule:
    """Return the rule for specs whose machines have no way to the internet."""

    def checked(subject: Subject) -> Iterator[Finding]:
        if subject.spec.network.egress is Egress.NONE:
            yield from rule(subject)

    return checked


def _has_proxy(subject: Subject, scheme: str) -> bool:
    """Return whether machines reach URLs of this scheme, http or https, through a proxy."""
    return subject.spec.proxy is not None and bool(getattr(subject.spec.proxy, scheme))


def _role(subject: Subject, group: MachineGroupSpec) -> Role:
    return role(subject.name, subject.spec, None if group.name == CONTROL_PLANE else group.name)


def _apart(subject: Subject) -> Iterator[Finding]:
    if regions.is_apart(subject.spec.cloud.value, subject.region):
        yield at("network", "egress", region=subject.region)


def _azures_apis(subject: Subject) -> Iterator[Finding]:
    if subject.spec.cloud is not Cloud.AZURE:
        return
    if not _has_proxy(subject, "https"):
        yield at("proxy", "https")
    for index, each in enumerate(subject.spec.proxy.no_proxy if subject.spec.proxy else ()):
        name = each.lstrip(".").lower()
        if name == ENTRA or ENTRA.endswith(f".{name}"):
            yield at("proxy", "no_proxy", index)


def _activation(subject: Subject) -> Iterator[Finding]:
    """Find Windows pools on Azure. Other clouds activate Windows at addresses of their own network."""
    if subject.spec.cloud is Cloud.AZURE:
        for group in subject.groups:
            if group.os.is_windows:
                yield at(*group.path, name=group.name)


def _public(subject: Subject) -> Iterator[Finding]:
    if subject.spec.api.access is ApiAccess.PUBLIC:
        yield at("api", "access", what="public API")
    for name, balancer in subject.spec.ingress.load_balancers.items():
        if not balancer.internal:
            yield at("ingress", "load_balancers", name, what="public load balancer")


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _urls(of: Role) -> Iterator[str]:
    """Yield the URLs of a machine's downloads, without those that the tables lack."""
    for each in wanted(of):
        with suppress(UnknownArtifact):
            yield of.catalogue.find(each.name, each.version, of.system).url


def _downloads(subject: Subject) -> Iterator[Finding]:
    """Find downloads from publishers. A pinned image may contain them, which no check can see."""
    if _has_proxy(subject, "https") or not supported(subject):
        return
    for group in subject.groups:
        if group.os in subject.spec.images:
            continue
        if hosts := sorted({host for url in _urls(_role(subject, group)) if (host := _host(url)) in PUBLISHERS}):
            yield at(*group.path, name=group.name, hosts=", ".join(hosts), stack=subject.name)


def _started(subject: Subject, group: MachineGroupSpec) -> set[str]:
    """Return the images that the machines of a group start before any workload."""
    of = _role(subject, group)
    found = {images.pause(of), *images_on(role(subject.name, subject.spec, None), of.system)}
    if group.os.is_windows:
        return found | {*(group.options.pre_pull if isinstance(group.options, Pool) else ())}
    if of.is_control_plane:
        found |= {*images.by_container(of, cluster_configuration(of)).values()}
    return found


def registry(image: str) -> str:
    """Return the registry of an image's name: docker.io, unless the first part is a host."""
    first, _, rest = image.partition("/")
    return first if rest and ("." in first or ":" in first) else "docker.io"


def _images(subject: Subject) -> Iterator[Finding]:
    """Find registries of the internet without a mirror. Docker asks no mirrors."""
    if _has_proxy(subject, "https") or not supported(subject):
        return
    for group in subject.groups:
        mirrors = group.options.containerd.mirrors if group.runtime is Runtime.CONTAINERD else {}
        asked = {registry(each) for each in _started(subject, group)} & REGISTRIES - {*google_domains(subject.spec)}
        if EVERY not in mirrors and (missing := sorted(asked - {*mirrors})):
            yield at(*group.path, "containerd", "mirrors", hosts=", ".join(missing))


def _packages(subject: Subject) -> Iterator[Finding]:
    if _has_proxy(subject, "http"):
        return
    for group in subject.groups:
        packages = {} if group.os.is_windows else releases.linux(group.os).packages
        if packages and group.os not in subject.spec.images:
            yield at(*group.path, "os", os=group.os.value, packages=", ".join(sorted({*packages.values()})))


def _sign_in(subject: Subject) -> Iterator[Finding]:
    if oidc := subject.spec.api.oidc:
        yield at("api", "oidc", "issuer", issuer=oidc.issuer)


_READS = "network.egress"

CHECKS = (
    error(
        "no-egress-region",
        f"{_READS} cloud region",
        _without_egress(_apart),
        "names of private endpoints and their zones differ in {region}: Mullion knows those of AWS's partitions aws and"
        " aws-us-gov and of global Azure, not of China, sovereign clouds and other clouds of governments",
        "write egress: nat or public, or choose another region",
    ),
    error(
        "no-egress-azure-apis",
        f"{_READS} cloud proxy.https proxy.no_proxy",
        _without_egress(_azures_apis),
        "control planes read the list of machines from management.azure.com, and keys of tokens from"
        f" {ENTRA}: no private endpoint of a cluster leads there, and with egress: none no other way",
        f"write proxy.https, a proxy that passes both hosts on port 443, and leave {ENTRA} out of proxy.no_proxy",
    ),
    error(
        "no-egress-public-balancer",
        f"{_READS} api.access ingress",
        _without_egress(_public),
        "a {what} connects machines with clients in the internet, and egress: none is for networks without any"
        " connection with it",
        "write api: {{access: private}} and internal: true for load balancers, or egress: nat",
    ),
    error(
        "no-egress-downloads",
        f"{_READS} proxy.https artifacts images kubernetes <machines>.os <machines>.runtime <machines>.containerd",
        _without_egress(_downloads),
        "machines of {name} download from {hosts}, and with egress: none they have no way there",
        "fill a web server that they reach (mullion mirror TARGET {stack}) and write its URL in artifacts.mirror; or"
        " write proxy.https; or pin an image that contains the files (docs/images.md)",
    ),
    error(
        "no-egress-images",
        f"{_READS} proxy.https kubernetes kubeadm <machines>.containerd.mirrors <machines>.os <machines>.runtime"
        " <machines>.pre_pull",
        _without_egress(_images),
        "machines start images of {hosts}, and with egress: none they have no way there",
        "write mirrors of these registries that machines reach (Docker asks none), or proxy.https",
    ),
    error(
        "no-egress-packages",
        f"{_READS} proxy.http images <machines>.os",
        _without_egress(_packages),
        "{os} lacks {packages}, which machines install from the distribution's archive: with egress: none they have no"
        " way there",
        "choose ubuntu-24.04, write proxy.http, or pin an image that contains the packages in images.{os}",
    ),
    warning(
        "no-egress-activation",
        f"{_READS} cloud <machines>.os",
        _without_egress(_activation),
        "Windows on the machines of {name} is not activated: Azure's server, azkms.core.windows.net on port 1688, has"
        " no private endpoint, and activation uses no proxy",
        "acknowledge this warning if a connected network has a way to that server from a public address of Azure, or if"
        " an image of yours names a KMS host that machines reach (slmgr /skms)",
    ),
    warning(
        "no-egress-sign-in",
        f"{_READS} api.oidc",
        _without_egress(_sign_in),
        "API servers read the keys of {issuer} directly, without the proxy: with egress: none people can sign in only"
        " if the issuer is in a connected network",
        "acknowledge this warning if it is, or remove api.oidc",
    ),
)
