"""Checks of sessions on machines (`access: session`)."""

from collections.abc import Iterator

from components.checks.check import Finding, Subject, at, error, warning
from components.spec.models import Cloud, MachineAccess, OperatingSystem

WITHOUT_AGENT = "session-without-agent"
"""Id of the check that finds images without SSM Agent; booted sandboxes acknowledge it."""


def _behind_proxy(subject: Subject) -> Iterator[Finding]:
    """Find a web proxy on AWS: SSM Agent reads its proxy from its own service, which Mullion does not configure."""
    spec = subject.spec
    if spec.access is MachineAccess.SESSION and spec.cloud is Cloud.AWS and spec.proxy is not None:
        yield at("access")


def _without_agent(subject: Subject) -> Iterator[Finding]:
    """Find images without SSM Agent ("Find AMIs with the SSM Agent preinstalled" lists Ubuntu and Windows Server)."""
    spec = subject.spec
    if spec.access is MachineAccess.SESSION and spec.cloud is Cloud.AWS:
        for group in subject.groups:
            if group.os is OperatingSystem.DEBIAN_12 and group.os not in spec.images:
                yield at(*group.path, "os", name=group.name)


CHECKS = (
    error(
        "session-behind-proxy",
        "access proxy cloud",
        _behind_proxy,
        "SSM Agent connects to AWS directly, but these machines must use a web proxy",
        "write access: none, or remove proxy",
    ),
    warning(
        WITHOUT_AGENT,
        "access cloud images <machines>.os",
        _without_agent,
        "Debian's image has no SSM Agent, so the machines of {name} have no sessions",
        "choose ubuntu-24.04, or name an image with the agent in images.debian-12",
    ),
)
