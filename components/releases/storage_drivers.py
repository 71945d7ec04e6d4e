"""Storage drivers (CSI): versions and digests of their images and of the sidecars that serve them."""

from dataclasses import dataclass, field

from components.releases.order import within
from components.spec.choices import Cloud, StorageDriver

FIRST = "1.26"
"""Oldest minor with drivers: HostProcess containers, which node plug-ins on Windows are, are stable from it on
(KEP-1981), and the validation rules of the snapshots' definitions work (x-kubernetes-validations, from 1.25)."""

FIRST_CONTAINERD = "1.7"
"""Oldest containerd for node plug-ins on Windows: it mounts volumes of HostProcess containers at their own paths
(KEP-1981, "Container Mounts")."""

FIRST_ATTRIBUTES_CLASSES = "1.34"
"""First minor with VolumeAttributesClass in storage.k8s.io/v1, which provisioner and resizer otherwise wait for."""

SOURCE = "https://github.com/kubernetes/k8s.io, registry.k8s.io/images"
"""Lists of promoted images: k8s-staging-sig-storage/images.yaml at 0279c5e0c09c, k8s-staging-provider-aws/images.yaml
at 0137eda2cba1, k8s-staging-cloud-provider-gcp/images.yaml at 43401df3a194."""

_SIG_STORAGE = "registry.k8s.io/sig-storage"

SIDECARS: dict[str, tuple[str, str]] = {
    "csi-provisioner": (
        f"{_SIG_STORAGE}/csi-provisioner:v6.0.0",
        "sha256:0c537015fe9cf9d53d79d0181e17a78ee784303cd46bf957016605488f212327",
    ),
    "csi-attacher": (
        f"{_SIG_STORAGE}/csi-attacher:v4.10.0",
        "sha256:be59d0556508d3dd419cc34c53062f170a28902ef36e832b947c7796458a083d",
    ),
    "csi-resizer": (
        f"{_SIG_STORAGE}/csi-resizer:v2.0.0",
        "sha256:4a95d94e57ad82f6977cd8d4fdcfcfc0b83f02d990e4e7715b688c20970a906d",
    ),
    "csi-snapshotter": (
        f"{_SIG_STORAGE}/csi-snapshotter:v8.4.0",
        "sha256:c7e0a3718832b6197ce8b29fefb3fed3d84f4fbcdf08f4606140dbec2566501d",
    ),
    "csi-node-driver-registrar": (
        f"{_SIG_STORAGE}/csi-node-driver-registrar:v2.15.0",
        "sha256:11f199f6bec47403b03cb49c79a41f445884b213b382582a60710b8c6fdc316a",
    ),
    "livenessprobe": (
        f"{_SIG_STORAGE}/livenessprobe:v2.17.0",
        "sha256:9b75b9ade162136291d5e8f13a1dfc3dec71ee61419b1bfc112e0796ff8a6aa9",
    ),
    "snapshot-controller": (
        f"{_SIG_STORAGE}/snapshot-controller:v8.4.0",
        "sha256:b845f4bbc34d70bd84e92f8021f47704df1de3dbabbd8289969651360b39d605",
    ),
}
"""Programs of kubernetes-csi: image and digest of its index by name. One version for all minors."""


@dataclass(frozen=True)
class DriverRelease:
    """One release of a storage driver."""

    plugin: str
    """Name that PersistentVolumes, StorageClasses and the kubelet know it by."""
    cloud: Cloud | None
    """The only cloud on which it works; None: every one."""
    images: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Image and digest of its index by operating system."""


_EBS = (
    "registry.k8s.io/provider-aws/aws-ebs-csi-driver:v1.63.1",
    "sha256:150de06f37bd1bc2ae09e311029edb4a14889b215f59ca3d4ba4e37f4668e867",
)

_PD = (
    "registry.k8s.io/cloud-provider-gcp/gcp-compute-persistent-disk-csi-driver:v1.17.15",
    "sha256:7277fe036a097d0634fdf26a5fb82ed72b70aef0fa62f6ef590a53d6641fd910",
)
"""Newest promoted release before 1.21.0. The two newer ones, 1.22.0 and 1.22.1, crash whenever an answer to a wait for
an operation is an error: they read a field of the missing answer (waitForZonalOp in
pkg/gce-cloud-provider/compute/gce-compute.go, from 1.21.0 to 1.22.5; 1.23.0 has the mend, commit 832d894f)."""

DRIVERS: dict[StorageDriver, DriverRelease] = {
    StorageDriver.EBS: DriverRelease("ebs.csi.aws.com", Cloud.AWS, {"linux": _EBS, "windows": _EBS}),
    # its node plug-in on Windows calls csi-proxy (deploy/kubernetes/base/node_windows/node.yaml, up to v1.26.4)
    StorageDriver.PD: DriverRelease("pd.csi.storage.gke.io", Cloud.GCP, {"linux": _PD}),
    StorageDriver.SMB: DriverRelease(
        "smb.csi.k8s.io",
        None,
        {
            "linux": (
                f"{_SIG_STORAGE}/smbplugin:v1.19.1",
                "sha256:4e4a286490bb9d0f6de35a9486d117bb7ba8a352f1e7532420b7c9ac2c565087",
            ),
            "windows": (
                f"{_SIG_STORAGE}/smbplugin:v1.19.1-windows-hp",
                "sha256:44c5e46b0d00bf80a37e204648efa7f9ce41b877273e4bb5bf8b223bada04a62",
            ),
        },
    ),
}
"""Drivers that Mullion installs."""


def has_attributes_classes(kubernetes_minor: str) -> bool:
    """Return whether the API server of a minor serves VolumeAttributesClass as storage.k8s.io/v1."""
    return within(kubernetes_minor, FIRST_ATTRIBUTES_CLASSES, "")
