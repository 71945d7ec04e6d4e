"""Versions of Kubernetes and of operating systems that fit together and are supported."""

from collections.abc import Iterator

from components import releases
from components.catalogue import artifacts
from components.checks.check import Finding, Rule, Subject, at, error, warning
from components.spec.models import Cloud, CloudController, OperatingSystem

NEAR_DAYS = 90
"""Days before the end of an operating system's support in which its use is warned about."""


def supported(subject: Subject) -> bool:
    """Return whether the tables have the cluster's Kubernetes minor."""
    return subject.minor in releases.supported_minors()


def _unsupported(newer: bool) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        minors = releases.supported_minors()
        outside = releases.older(minors[-1], subject.minor) if newer else releases.older(subject.minor, minors[0])
        if outside:
            patch = _newest_patch(minors[-1] if newer else _with_support()[0])
            yield at(
                "kubernetes",
                value=subject.spec.kubernetes,
                minor=subject.minor,
                first=minors[0],
                last=minors[-1],
                patch=patch,
            )

    return rule


def _newest_patch(minor: str) -> str:
    same = [each for each in artifacts.versions("kubernetes-node") if releases.minor(each) == minor]
    return releases.in_order(same)[-1]


def _with_support() -> list[str]:
    """Return the minors that get security fixes, oldest first."""
    rows = [releases.release(minor) for minor in releases.supported_minors()]
    return [row.minor for row in rows if not releases.ended(row.end_of_life)]


def _patch(subject: Subject) -> Iterator[Finding]:
    catalogue = artifacts.catalogue(subject.spec.artifacts)
    known, minors = catalogue.versions("kubernetes-node", pinned=False), releases.supported_minors()
    if releases.within(subject.minor, minors[0], minors[-1]) and subject.spec.kubernetes not in known:
        same = [each for each in catalogue.versions("kubernetes-node") if releases.minor(each) == subject.minor]
        patches = ", ".join(releases.in_order(same)) or "another minor"
        yield at("kubernetes", value=subject.spec.kubernetes, patches=patches)


def _end_of_life(subject: Subject) -> Iterator[Finding]:
    if supported(subject) and releases.ended(end := releases.release(subject.minor).end_of_life):
        yield at("kubernetes", minor=subject.minor, end=end, minors=", ".join(_with_support()))


def _system_end(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        end = releases.os_end_of_life(group.os.value)
        if end and releases.ended(end, releases.days_later(NEAR_DAYS)):
            ends = "ended" if releases.ended(end) else "ends"
            extended = releases.extended_support(group.os.value)
            fits = " or ".join(_supported_systems(group.os.is_windows))
            yield at(*group.path, "os", os=group.os.value, ends=ends, end=end, extended=extended, fits=fits)


def _supported_systems(windows: bool) -> list[str]:
    """Return the operating systems of one kind whose support lasts for NEAR_DAYS or longer."""
    ends = {system.value: releases.os_end_of_life(system.value) or "" for system in OperatingSystem}
    lasting = [name for name, end in ends.items() if not releases.ended(end, releases.days_later(NEAR_DAYS))]
    return [name for name in lasting if name.startswith("windows") == windows]


def _windows_early(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        first = releases.windows(group.os.value).first if group.os.is_windows else ""
        if not releases.within(subject.minor, first, ""):
            fits = " or ".join(releases.windows_for(subject.minor))
            yield at(*group.path, "os", os=group.os.value, minor=subject.minor, first=first, fits=fits)


def _windows_patch(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        first = releases.windows(group.os.value).first_patch if group.os.is_windows else None
        if first and releases.minor(first) == subject.minor and releases.older(subject.spec.kubernetes, first):
            yield at(*group.path, "os", os=group.os.value, first=first)


def _windows_late(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        last = releases.windows(group.os.value).last_upstream if group.os.is_windows else None
        if not releases.within(subject.minor, "", last or ""):
            yield at(*group.path, "os", os=group.os.value, minor=subject.minor, last=last)


def _cgroups(subject: Subject) -> Iterator[Finding]:
    stage = releases.release(subject.minor).cgroup_v2 if supported(subject) else "stable"
    if stage != "stable":
        yield at("kubernetes", minor=subject.minor, stage=stage)


def _controller_early(subject: Subject) -> Iterator[Finding]:
    used = subject.spec.cloud_controller is CloudController.EXTERNAL and subject.spec.cloud is Cloud.AWS
    if used and supported(subject) and not releases.has_aws_controller(subject.minor):
        yield at("cloud_controller", minor=subject.minor, first=releases.first_aws_controller())


def _credentials_early(subject: Subject) -> Iterator[Finding]:
    providers = subject.spec.registry_credentials and supported(subject)
    if providers and releases.release(subject.minor).credential_provider is None:
        yield at("registry_credentials", minor=subject.minor)


def _credentials_elsewhere(subject: Subject) -> Iterator[Finding]:
    facts = subject.spec.cloud.facts
    for index, registry in enumerate(subject.spec.registry_credentials):
        if registry not in facts.registries:
            own = ", ".join(facts.registries)
            yield at("registry_credentials", index, registry=registry.value, title=facts.title, own=own)


def _dsr_images(subject: Subject) -> Iterator[Finding]:
    used = {group.os for group in subject.workers if group.os.is_windows and group.options.kube_proxy.dsr}
    for os in sorted(used & subject.spec.images.keys()):
        if revision := releases.windows(os.value).dsr_ubr:
            yield at("images", os.value, build=f"{releases.windows(os.value).build}.{revision}")


def _broken_images(subject: Subject) -> Iterator[Finding]:
    used = {group.os for group in subject.workers if group.os.is_windows}
    for os in sorted(used & subject.spec.images.keys()):
        release = releases.windows(os.value)
        if (broken := release.broken) and broken.may_have(subject.spec.images[os]):
            first, fixed = (f"{release.build}.{revision}" for revision in (broken.first, broken.fixed))
            months = f"{broken.since[:7]} to {broken.until[:7]}"
            yield at("images", os.value, first=first, fixed=fixed, months=months)


def _linux_dsr(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        if group.options.kube_proxy.dsr and not group.os.is_windows:
            yield at(*group.path, "kube_proxy", "dsr")


CHECKS = (
    error(
        "kubernetes-too-old",
        "kubernetes",
        _unsupported(newer=False),
        "Mullion builds Kubernetes {first} to {last}, not {value}",
        "write {patch} or a newer version; `mullion versions` lists the newest patch of each minor",
        "OS-01 RUN-01",
    ),
    error(
        "kubernetes-too-new",
        "kubernetes",
        _unsupported(newer=True),
        "Mullion builds Kubernetes {first} to {last}, and does not know the flags and fields of {value}",
        "write {patch} or an older version; `mullion versions` lists the newest patch of each minor. "
        "For {minor}, update Mullion",
        "SRV-13",
    ),
    error(
        "kubernetes-patch",
        "kubernetes artifacts",
        _patch,
        "Mullion has no download of Kubernetes {value}",
        "write one of {patches}, or record the digests of {value}: mullion pin kubernetes-node {value}",
        "SRV-02",
    ),
    warning(
        "kubernetes-end-of-life",
        "kubernetes",
        _end_of_life,
        "Kubernetes {minor} gets no security fixes since {end}",
        "upgrade to {minors}, one minor at a time",
    ),
    warning(
        "os-end-of-life",
        "<machines>.os",
        _system_end,
        "security support of {os} {ends} on {end}{extended}",
        "write {fits}",
    ),
    error(
        "windows-before-kubernetes",
        "kubernetes pools.<pool>.os",
        _windows_early,
        "Kubernetes {minor} does not support {os}, which needs {first} or newer",
        "write {fits}, or a newer Kubernetes",
        "OS-01",
    ),
    error(
        "windows-patch-early",
        "kubernetes pools.<pool>.os",
        _windows_patch,
        "kube-proxy before Kubernetes {first} leaves old endpoints in Services on {os}",
        "write Kubernetes {first} or newer",
        "OS-01",
    ),
    warning(
        "windows-2019-late",
        "kubernetes pools.<pool>.os",
        _windows_late,
        "Kubernetes tests {os} only up to {last}; {minor} may not work on it",
        "write windows-2022, and rebuild images on ltsc2022",
        "OS-03",
    ),
    warning(
        "cgroup-v2-early",
        "kubernetes",
        _cgroups,
        "the Linux images boot only with control groups v2, which are {stage} in Kubernetes {minor}",
        "write Kubernetes 1.25 or newer",
    ),
    error(
        "registry-credentials-early",
        "registry_credentials kubernetes",
        _credentials_early,
        "no credential provider works with the kubelet of Kubernetes {minor}",
        "write Kubernetes 1.26 or newer, or remove the list and use imagePullSecrets",
    ),
    error(
        "registry-credentials-elsewhere",
        "registry_credentials cloud",
        _credentials_elsewhere,
        "machines on {title} have no identity for {registry}, which is of another cloud",
        "write registry_credentials: [{own}], and use imagePullSecrets for other registries",
    ),
    error(
        "cloud-controller-early",
        "cloud_controller cloud kubernetes",
        _controller_early,
        "Mullion has no cloud controller for Kubernetes {minor}",
        "write Kubernetes {first} or newer, or cloud_controller: none",
        "SVC-01",
    ),
    warning(
        "dsr-on-windows-2019",
        "images pools.*.kube_proxy.dsr pools.*.os",
        _dsr_images,
        "direct server return needs {build} (KB5003171) or newer: machines of an older image stop with E501",
        "pin an image of May 2021 or newer, or write kube_proxy: {{dsr: false}}",
        "SVC-03",
    ),
    warning(
        "windows-image-broken",
        "images pools.*.os",
        _broken_images,
        "pods have no network with updates from {first} to before {fixed} ({months}), and this image may have one",
        "pin an image with {fixed} (KB5044281) or newer; acknowledge this where the id does not tell",
    ),
    error(
        "dsr-on-linux",
        "<machines>.kube_proxy.dsr <machines>.os",
        _linux_dsr,
        "direct server return exists only on Windows nodes",
        "remove it",
        "SVC-03",
    ),
)
