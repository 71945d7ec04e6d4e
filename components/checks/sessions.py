"""Checks of sessions on machines (`access: session`)."""

import re
from collections.abc import Iterator

from components.checks.check import Finding, Rule, Subject, at, error, warning
from components.spec.existing import ExistingBastion
from components.spec.models import ApiAccess, Cloud, MachineAccess, OperatingSystem
from components.topology.private_ranges import is_private

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


def _on_azure(rule: Rule) -> Rule:
    """Return the rule for specs with sessions through a host in the network."""

    def checked(subject: Subject) -> Iterator[Finding]:
        if subject.spec.access is MachineAccess.SESSION and subject.spec.cloud.facts.session_host:
            yield from rule(subject)

    return checked


def _public(subject: Subject) -> Iterator[Finding]:
    if subject.spec.api.access is ApiAccess.PUBLIC:
        yield at("access")


def _nobody_allowed(subject: Subject) -> Iterator[Finding]:
    if not subject.spec.network.existing and all(map(is_private, subject.spec.api.allow)):
        yield at("api", "allow")


def _bastion_missing(subject: Subject) -> Iterator[Finding]:
    existing = subject.spec.network.existing
    if existing and not existing.bastion:
        yield at("network", "existing")


def _bastion_of(subject: Subject) -> ExistingBastion | None:
    existing = subject.spec.network.existing
    return existing.bastion if existing else None


def _bastion_unused(subject: Subject) -> Iterator[Finding]:
    used = subject.spec.access is MachineAccess.SESSION and subject.spec.cloud.facts.session_host
    if _bastion_of(subject) and not used:
        yield at(*_BASTION)


def _bastion_form(subject: Subject) -> Iterator[Finding]:
    bastion = _bastion_of(subject)
    if bastion and not BASTION_FORM.fullmatch(bastion.id):
        yield at(*_BASTION, "id", value=bastion.id)


def _bastion_range(subject: Subject) -> Iterator[Finding]:
    """Find a Bastion range that overlaps machines, pods or Services, which the firewall would then admit to the API."""
    bastion, network = _bastion_of(subject), subject.spec.network
    if not bastion or not network.existing:
        return
    machines = [(f"existing.subnets.{index}.range", each.range) for index, each in enumerate(network.existing.subnets)]
    for name, other in (("pods", network.pods), ("services", network.services), *machines):
        if bastion.range.overlaps(other):
            yield at(*_BASTION, "range", value=bastion.range, other=other, name=f"network.{name}")


_BASTION = ("network", "existing", "bastion")
BASTION_FORM = re.compile(
    r"/subscriptions/[0-9a-fA-F-]{36}/resourceGroups/[\w().-]+/providers/Microsoft\.Network/bastionHosts/[\w.-]+"
)
"""Form of a Bastion host's id."""

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
    error(
        "session-to-public-api",
        "access api.access cloud",
        _on_azure(_public),
        "on Azure sessions reach the API only, and this API is public: Azure Bastion would cost money for nothing",
        "write access: none, or api: {{access: private}}",
    ),
    error(
        "session-from-nowhere",
        "access api.allow cloud network.existing",
        _on_azure(_nobody_allowed),
        "Azure Bastion admits connections from public ranges in api.allow, which has none",
        "list the public addresses of the people and programs that open sessions",
    ),
    error(
        "session-without-bastion",
        "access network.existing cloud",
        _on_azure(_bastion_missing),
        "sessions need Azure Bastion, and Mullion adds no subnet to a network of yours",
        "write id and range of a Bastion host of yours in network.existing.bastion, or access: none",
    ),
    error(
        "bastion-unused",
        "network.existing access cloud",
        _bastion_unused,
        "a Bastion host has no effect here: only sessions (access: session) on Azure use one",
        "remove bastion, or write access: session",
    ),
    error(
        "bastion-id",
        "network.existing",
        _bastion_form,
        "{value!r} is not the id of a Bastion host",
        "write /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Network/bastionHosts/NAME",
    ),
    error(
        "bastion-range",
        "network.existing network.pods network.services",
        _bastion_range,
        "{value} overlaps {name}, {other}, and the control plane admits the whole range",
        "write the range of AzureBastionSubnet as Azure shows it",
    ),
)
