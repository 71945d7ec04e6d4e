"""Which instance types run a hypervisor inside a machine (nested virtualisation), and so Hyper-V isolated containers.

Read in 2026-11. A series that no table has counts as one that does not run Hyper-V, because nobody looked it up.
"""

import re

AWS_FAMILIES = frozenset(f"{family}{kind}" for family in ("c8i", "m8i", "r8i") for kind in ("", "-flex"))
"""AWS: families of virtual machines. EC2 API reference, CpuOptionsRequest, NestedVirtualization: "supported only on 8th
generation Intel-based instance types (c8i, m8i, r8i, and their flex variants)"; EC2 user guide, "Use nested
virtualization to run hypervisors in Amazon EC2 instances": Hyper-V is a supported hypervisor."""

AWS_SIZE = re.compile(r"(?P<family>[a-z0-9-]+)\.(?:x?large|(?P<times>\d+)xlarge)")
AWS_TIMES_MOST = 48
"""AWS: largest size, in multiples of 4 vCPU. The same page: "Not supported on Windows instances with more than 192
CPUs". Bare metal (m8i.metal-48xl) is another matter, which the page does not describe."""

AZURE_SERIES: tuple[tuple[str, bool], ...] = (
    ("D{}s_v5 D{}ds_v5 D{}as_v5 D{}ads_v5", True),
    ("D{}s_v6 D{}ds_v6 D{}as_v6 D{}ads_v6", True),
    ("E{}s_v5 E{}ds_v5 E{}as_v5 E{}ads_v5", True),
    ("E{}s_v6 E{}ds_v6 E{}as_v6 E{}ads_v6", True),
    ("D{}as_v4 E{}as_v4", False),
    ("B{}s B{}ms B{}s_v2 B{}as_v2 B{}ls_v2 B{}als_v2", False),
)
"""Azure: series, where {} is the vCPU, and "Nested Virtualization" in the table "Feature support" of the series' page
(learn.microsoft.com/azure/virtual-machines/sizes, such as general-purpose/dsv5-series).

Mullion's machines have the security type Trusted Launch. With it, machines of the series before v5 refuse Hyper-V
("virtualization support is not enabled in the BIOS", MicrosoftDocs/azure-docs issue 87947), and Microsoft's page about
Trusted Launch of 2023 said that most v5 sizes run a hypervisor. So older series, Fsv2 too, are refused."""

AZURE_BEFORE_V5 = re.compile(r"Standard_(?:[DE][0-9]+d?s_v[34]|F[0-9]+s_v2)")
"""Azure: sizes that run Hyper-V, but not with Trusted Launch."""

GCP_REFUSES = "Google Cloud runs only KVM inside a machine, not Hyper-V"
"""GCP: Compute Engine, "About nested virtualization", Restrictions: "The only hypervisor supported in an L1 VM is Linux
KVM; Microsoft Hyper-V isn't supported"."""

OFFERED: dict[str, str] = {
    "aws": "m8i.xlarge, or another of the families c8i, m8i and r8i",
    "azure": "Standard_D4s_v5, or another of the series Dsv5, Dsv6, Dasv5, Dasv6, Esv5, Esv6, Easv5, Easv6",
}
"""By cloud: what to write instead of a size that does not run Hyper-V."""


def refusal(cloud: str, size: str) -> str:
    """Return why a cloud's instance type does not run Hyper-V in its machines; empty if it does."""
    if cloud == "gcp":
        return GCP_REFUSES
    return _aws(size) if cloud == "aws" else _azure(size)


def is_chosen_at_launch(cloud: str) -> bool:
    """Return whether a cloud's machines run a hypervisor only if their launch asks for it; Azure's always do."""
    return cloud == "aws"


def _aws(size: str) -> str:
    family = size.partition(".")[0]
    if ".metal" in size:
        return (
            f"AWS documents Hyper-V for virtual machines, and nothing about it was found for bare metal such as {size}"
        )
    if family not in AWS_FAMILIES:
        return f"AWS runs Hyper-V inside machines of the families {', '.join(sorted(AWS_FAMILIES))} only"
    match = AWS_SIZE.fullmatch(size)
    if match is None or int(match["times"] or 1) > AWS_TIMES_MOST:
        return "AWS runs no hypervisor in Windows machines with more than 192 vCPU"
    return ""


def _azure(size: str) -> str:
    if AZURE_BEFORE_V5.fullmatch(size):
        return "machines with Trusted Launch, as Mullion's are, run Hyper-V from the series of version 5 on"
    for names, supported in AZURE_SERIES:
        for form in names.split():
            if re.fullmatch(f"Standard_{form.format('[0-9]+')}", size):
                return (
                    "" if supported else "Azure's page of the series says that nested virtualization is not supported"
                )
    return "its series is not in Mullion's table of sizes with nested virtualization, so nobody looked it up"
