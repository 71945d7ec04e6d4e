"""What depends on the operating system release."""

from dataclasses import dataclass, field

_OVERRIDES = r"HKLM\SYSTEM\CurrentControlSet\Policies\Microsoft\FeatureManagement\Overrides"
_HNS = r"HKLM\SYSTEM\CurrentControlSet\Services\hns\State"


@dataclass(frozen=True)
class RegistryFix:
    """A DWORD that Windows containers need."""

    key: str
    value: str
    number: int


@dataclass(frozen=True)
class WindowsRelease:
    """One Windows Server release (OS-07)."""

    os: str
    build: str
    """As in the node label node.kubernetes.io/windows-build."""
    image_tag: str
    """Tag of Microsoft's base images that run on it in process isolation."""
    image_parameter: str
    """AWS Systems Manager parameter that holds the newest image's id."""
    minimum_ubr: int | None = None
    """Least update revision for overlay networks."""
    dsr_ubr: int | None = None
    """Least update revision for direct server return, above minimum_ubr (SVC-03)."""
    pause: str | None = None
    """Pause image tag, where older ones have no manifest for the build."""
    last_upstream: str | None = None
    """Last Kubernetes minor that Kubernetes itself tests on it (OS-03)."""
    fixes: tuple[RegistryFix, ...] = field(default=())

    @property
    def runtime_class(self) -> str:
        """Name of its RuntimeClass (SCH-05)."""
        return self.os


_COMPARTMENT = RegistryFix(_HNS, "EnableCompartmentNamespace", 1)
"""SMB shares and DNS in pods with containerd (SEC-04)."""

WINDOWS: dict[str, WindowsRelease] = {
    each.os: each
    for each in (
        WindowsRelease(
            "windows-2019",
            "10.0.17763",
            "ltsc2019",
            "/aws/service/ami-windows-latest/Windows_Server-2019-English-Core-Base",
            # OS-06: KB4489899 brings remote subnets to overlay networks
            minimum_ubr=379,
            # KB4571748
            dsr_ubr=1432,
            last_upstream="1.32",
            fixes=(
                RegistryFix(_HNS, "HNSControlFlag", 80),
                RegistryFix(r"HKLM\SYSTEM\CurrentControlSet\Services\wcifs", "WcifsSOPCountDisabled", 0),
                _COMPARTMENT,
            ),
        ),
        WindowsRelease(
            "windows-2022",
            "10.0.20348",
            "ltsc2022",
            "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-Base",
            # VFP lock fix of April 2025
            fixes=(RegistryFix(_OVERRIDES, "1114842764", 0), _COMPARTMENT),
        ),
        WindowsRelease(
            "windows-2025",
            "10.0.26100",
            "ltsc2025",
            "/aws/service/ami-windows-latest/Windows_Server-2025-English-Core-Base",
            # 3.10 and 3.10.1 have no manifest for 26100
            pause="3.10.2",
            fixes=(RegistryFix(_OVERRIDES, "520997518", 1), _COMPARTMENT),
        ),
    )
}

LINUX_IMAGE_PARAMETERS: dict[str, str] = {
    "ubuntu-22.04": "/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id",
    "ubuntu-24.04": "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id",
}
"""AWS Systems Manager parameters; Canonical moved to gp3 with 24.04 (facts: os_images)."""
