"""Tables of Windows and Linux releases."""

import re
from dataclasses import dataclass, field

_OVERRIDES = r"HKLM\SYSTEM\CurrentControlSet\Policies\Microsoft\FeatureManagement\Overrides"
_HNS = r"HKLM\SYSTEM\CurrentControlSet\Services\hns\State"


@dataclass(frozen=True)
class RegistryFix:
    """A registry value (DWORD) that Windows containers need."""

    key: str
    value: str
    number: int
    bits: bool = False
    """Whether `number` has the bits to set, beside others that Windows or an image has set."""


@dataclass(frozen=True)
class BrokenUpdates:
    """Updates of a Windows Server release with which pods have no network."""

    first: int
    """Update revision (UBR) of the first one."""
    fixed: int
    """Update revision (UBR) of the first one that is right again."""
    since: str
    """Day of the first one, ISO 8601."""
    until: str
    """Day of the one that is right again, ISO 8601."""

    def may_have(self, image: str) -> bool:
        """Return whether an image may have one: by the version of an Azure image or the day in the name of Google's.

        Other ids do not tell.
        """
        if version := re.search(r":\d+\.(\d+)\.\d+$", image):
            return self.first <= int(version[1]) < self.fixed
        if day := re.search(r"-v(20\d{6})$", image):
            return self.since.replace("-", "") <= day[1] < self.until.replace("-", "")
        return not image.endswith(":latest")


@dataclass(frozen=True)
class WindowsRelease:
    """One Windows Server release (OS-07)."""

    os: str
    build: str
    """Value of the node label node.kubernetes.io/windows-build."""
    image_tag: str
    """Tag of Microsoft's base images that run on it with process isolation."""
    images: dict[str, str]
    """By cloud, the newest image: AWS Systems Manager parameter, Azure publisher:offer:sku, GCP project/family."""
    end_of_life: str
    """End of extended support, ISO 8601."""
    first: str
    """First Kubernetes minor that supports it (OS-01)."""
    first_patch: str | None = None
    """First patch of that minor whose kube-proxy works on it."""
    last_upstream: str | None = None
    """Last Kubernetes minor that Kubernetes itself tests on it (OS-03)."""
    minimum_ubr: int | None = None
    """Smallest update revision (UBR) with which the pod network works as planned."""
    dsr_ubr: int | None = None
    """Smallest update revision (UBR) for direct server return, above minimum_ubr (SVC-03)."""
    gmsa_ubr: int | None = None
    """Smallest update revision (UBR) with which pods of containerd use a gMSA, above minimum_ubr (SEC-04)."""
    broken: BrokenUpdates | None = None
    overlay_host_route: bool = True
    """Whether the host reaches pods of its own node in overlay networks: HNS' HostRoute policy, from build 18321 on
    (flannel pkg/backend/vxlan/device_windows.go). Without it the kubelet's http and tcp probes fail (flannel 1170,
    kubernetes 81938)."""
    pause: str | None = None
    """Tag of the pause image, where older tags have no manifest for the build."""
    fixes: tuple[RegistryFix, ...] = field(default=())

    @property
    def runtime_class(self) -> str:
        """The name of its RuntimeClass (SCH-05)."""
        return self.os

    @property
    def hyperv_class(self) -> str:
        """The name of the RuntimeClass of its Hyper-V isolated pods (SEC-06)."""
        return f"{self.os}-hyperv"


WINDOWS_SOURCE = "https://endoflife.date/windows-server"

_GMSA = RegistryFix(_HNS, "EnableCompartmentNamespace", 1)
"""Makes SMB shares, DNS and gMSA work in pods with containerd (SEC-04)."""


def _images(year: str, offer: str, sku: str) -> dict[str, str]:
    return {
        "aws": f"/aws/service/ami-windows-latest/Windows_Server-{year}-English-Core-Base",
        "azure": f"MicrosoftWindowsServer:{offer}:{sku}",
        "gcp": f"windows-cloud/windows-{year}-core",
    }


WINDOWS: dict[str, WindowsRelease] = {
    release.os: release
    for release in (
        WindowsRelease(
            "windows-2019",
            "10.0.17763",
            "ltsc2019",
            _images("2019", "WindowsServer", "2019-datacenter-core-smalldisk-g2"),
            "2029-01-09",
            first="1.14",
            last_upstream="1.32",
            # OS-06: KB4489899 brings remote subnets to overlay networks
            minimum_ubr=379,
            # KB4580390 (1554) brings it (sig-windows-tools, hostprocess/flannel/kube-proxy/start.ps1); with KB5003171
            # load balancers no longer break when their network goes first (microsoft/Windows-Containers#79)
            dsr_ubr=1935,
            # KB5000822 of March 2021, the fix that the guide of Kubernetes 1.20 announces for pods of containerd
            gmsa_ubr=1817,
            overlay_host_route=False,
            fixes=(
                # 0x10 and 0x40: fixes of November 2022 (image-builder); AKS changes single bits too
                RegistryFix(_HNS, "HNSControlFlag", 0x50, bits=True),
                RegistryFix(r"HKLM\SYSTEM\CurrentControlSet\Services\wcifs", "WcifsSOPCountDisabled", 0),
                _GMSA,
            ),
        ),
        WindowsRelease(
            "windows-2022",
            "10.0.20348",
            "ltsc2022",
            _images("2022", "WindowsServer", "2022-datacenter-core-smalldisk-g2"),
            "2031-10-14",
            first="1.23",
            # KB5040437 (July 2024) broke networks of pods, VXLAN too; KB5044281 (October 2024) names the fix
            # (microsoft/Windows-Containers#516, projectcalico/calico#8529)
            broken=BrokenUpdates(2582, 2762, "2024-07-09", "2024-10-08"),
            # image-builder sets the override 1114842764 to 0, AKS to 1: Windows decides (docs/windows-nodes.md)
            fixes=(_GMSA,),
        ),
        WindowsRelease(
            "windows-2025",
            "10.0.26100",
            "ltsc2025",
            _images("2025", "WindowsServer", "2025-datacenter-core-smalldisk-g2"),
            "2034-10-10",
            first="1.33",
            # 1.33.0 and 1.33.1 change load balancers in a way that HNS 15.4 answers with success and ignores
            # (kubernetes/kubernetes#131466; #131649, merged in June 2025, brings the fix to 1.33)
            first_patch="1.33.2",
            # KB5082063 (April 2026): a reporter saw HNS apply access lists with it, and not in October 2025, so pods
            # reached the metadata service. With it HNS denies all that no list allows, once an endpoint has one list
            # (by design: Microsoft in microsoft/Windows-Containers#616)
            minimum_ubr=32690,
            # 3.10 and 3.10.1 have no manifest for 26100
            pause="3.10.2",
            fixes=(RegistryFix(_OVERRIDES, "520997518", 1), _GMSA),
        ),
    )
}


@dataclass(frozen=True)
class LinuxRelease:
    """One Linux distribution release; all of them boot with control groups v2 alone."""

    os: str
    images: dict[str, str]
    """By cloud, as for Windows."""
    end_of_life: str
    """End of standard support, ISO 8601."""
    extended_support: str = ""
    """Support after that date, in words, with its end."""
    packages: dict[str, str] = field(default_factory=dict[str, str])
    """Programs that nodes need and cloud images may lack -> package."""


UBUNTU_SOURCE = "https://endoflife.date/ubuntu"
DEBIAN_SOURCE = "https://endoflife.date/debian"


def _ubuntu(version: str, volume: str, offer: str, sku: str, family: str) -> dict[str, str]:
    return {
        "aws": f"/aws/service/canonical/ubuntu/server/{version}/stable/current/amd64/hvm/ebs-{volume}/ami-id",
        "azure": f"Canonical:{offer}:{sku}",
        "gcp": f"ubuntu-os-cloud/{family}",
    }


LINUX: dict[str, LinuxRelease] = {
    release.os: release
    for release in (
        LinuxRelease(
            "ubuntu-22.04",
            _ubuntu("22.04", "gp2", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2", "ubuntu-2204-lts"),
            "2027-04-01",
        ),
        # Canonical moved to gp3 with 24.04
        LinuxRelease(
            "ubuntu-24.04",
            _ubuntu("24.04", "gp3", "ubuntu-24_04-lts", "server", "ubuntu-2404-lts-amd64"),
            "2029-05-31",
        ),
        LinuxRelease(
            "debian-12",
            {
                "aws": "/aws/service/debian/release/12/latest/amd64",
                "azure": "Debian:debian-12:12-gen2",
                "gcp": "debian-cloud/debian-12",
            },
            "2026-06-10",
            # https://wiki.debian.org/LTS
            extended_support="; Debian LTS, a separate project, goes on until 2028-06-30",
            # iptables closes addresses to pods and maps host ports
            packages={"/usr/sbin/iptables": "iptables"},
        ),
    )
}
