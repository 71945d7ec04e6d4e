"""Rules about volumes of pods."""

from components import releases
from components.lint.conditions import Condition, any_of, equals, exists, has, matches, one_of
from components.lint.rule import STORAGE_PAGE, Context, Level, Rule
from components.lint.targets import in_containers
from components.spec.choices import Cloud, Runtime

IN_TREE: dict[str, tuple[str, str, Cloud]] = {
    "awsElasticBlockStore": ("1.26", "ebs.csi.aws.com", Cloud.AWS),
    "azureDisk": ("1.26", "disk.csi.azure.com", Cloud.AZURE),
    "azureFile": ("1.29", "file.csi.azure.com", Cloud.AZURE),
    "gcePersistentDisk": ("1.27", "pd.csi.storage.gke.io", Cloud.GCP),
}
"""Volume of a cloud -> last minor whose kubelet has the driver itself, the CSI driver that replaces it, and its cloud
(https://kubernetes.io/docs/concepts/storage/volumes/#types-of-volumes)."""
LINUX_VOLUMES = (
    *("cephfs", "cinder", "fc", "flocker", "glusterfs", "iscsi", "photonPersistentDisk", "portworxVolume", "quobyte"),
    *("rbd", "scaleIO", "storageos"),
)
"""Volume types without a Windows driver (the page of STORAGE_PAGE lists those that have one)."""
VOLUMES_PAGE = "https://kubernetes.io/docs/concepts/storage/volumes/"
PIPES = r"^(\\\\\.\\pipe\\|//\./pipe/|npipe:////\./pipe/)(docker_engine|containerd-containerd|cri-dockerd)$"
MODE = 420
"""0644, which the API server fills in for defaultMode."""


def _volume(condition: Condition) -> Condition:
    return exists("volumes", condition)


def _mounts(condition: Condition) -> Condition:
    return in_containers(exists("volumeMounts", condition))


def _in_tree(context: Context) -> Condition | None:
    """Return the condition: volumes whose driver left the kubelet of the minor, on their own cloud."""
    gone = [
        has(name)
        for name, (last, _, cloud) in IN_TREE.items()
        if releases.older(last, context.minor) and (context.spec is None or context.spec.cloud is cloud)
    ]
    return _volume(any_of(gone)) if gone else None


def _other_cloud(context: Context) -> Condition | None:
    if context.spec is None:
        return None
    return _volume(any_of([has(name) for name, row in IN_TREE.items() if row[2] is not context.spec.cloud]))


def _flex(context: Context) -> Condition | None:
    return None if releases.older(context.minor, "1.23") else _volume(has("flexVolume"))


def _single_files(context: Context) -> Condition | None:
    files = _volume(one_of("hostPath.type", ["File", "FileOrCreate"]))
    return files if Runtime.CONTAINERD not in context.runtimes else None


_SOURCES = ("secret", "configMap", "downwardAPI")
_MODES = any_of(
    [
        *(has(f"{name}.defaultMode") & ~equals(f"{name}.defaultMode", MODE) for name in (*_SOURCES, "projected")),
        *(exists(f"{name}.items", has("mode")) for name in _SOURCES),
        exists("projected.sources", any_of([exists(f"{name}.items", has("mode")) for name in _SOURCES])),
    ]
)

RULES = (
    Rule(
        "sub-path",
        "STO-04",
        Level.WARNING,
        "subPath and subPathExpr are documented as unsupported on Windows",
        "Only mounts of whole volumes are documented to work, also for Secrets. The kubelet has code for parts "
        "of volumes (pkg/volume/util/subpath/subpath_windows.go), and some charts for Windows rely on it.",
        "mount the volume into a folder of its own, and read the file there",
        STORAGE_PAGE,
        r"{volumes: [{name: data, emptyDir: {}}], containers: [{volumeMounts: [{name: data, mountPath: 'C:\data'}]}]}",
        r"{volumes: [{name: data, emptyDir: {}}], "
        r"containers: [{volumeMounts: [{name: data, mountPath: 'C:\data', subPath: part}]}]}",
        condition=_mounts(matches("subPath", ".") | matches("subPathExpr", ".")),
    ),
    Rule(
        "single-file",
        "STO-05",
        Level.ERROR,
        "Docker on Windows mounts folders, not single files",
        "The container does not start.",
        "mount the folder of the file, or use containerd",
        STORAGE_PAGE,
        r"{volumes: [{name: data, hostPath: {path: 'C:\data', type: Directory}}]}",
        r"{volumes: [{name: data, hostPath: {path: 'C:\data\a.txt', type: File}}]}",
        condition=_single_files,
        cluster="{pools: {web: {os: windows-2022, runtime: docker}}}",
    ),
    Rule(
        "mount-propagation",
        "STO-06",
        Level.ERROR,
        "Windows containers cannot propagate mounts",
        "Mounts of a container are not visible on the host, and later mounts of the host not in the container.",
        "remove mountPropagation",
        STORAGE_PAGE,
        r"{volumes: [{name: data, emptyDir: {}}], "
        r"containers: [{volumeMounts: [{name: data, mountPath: 'C:\data', mountPropagation: None}]}]}",
        r"{volumes: [{name: data, emptyDir: {}}], "
        r"containers: [{volumeMounts: [{name: data, mountPath: 'C:\data', mountPropagation: HostToContainer}]}]}",
        condition=_mounts(one_of("mountPropagation", ["HostToContainer", "Bidirectional"])),
    ),
    Rule(
        "file-modes",
        "STO-07",
        Level.WARNING,
        "file modes have no effect on Windows",
        "Windows has no mode bits; access control lists inside the container decide.",
        "remove defaultMode and mode",
        STORAGE_PAGE,
        "{volumes: [{name: data, secret: {secretName: a}}]}",
        "{volumes: [{name: data, secret: {secretName: a, defaultMode: 256}}]}",
        condition=_volume(_MODES),
    ),
    Rule(
        "nfs",
        "STO-08",
        Level.ERROR,
        "Windows nodes mount no NFS volumes",
        "The kubelet on Windows has no NFS client.",
        "use SMB, by the CSI driver smb.csi.k8s.io",
        STORAGE_PAGE,
        "{volumes: [{name: data, csi: {driver: smb.csi.k8s.io}}]}",
        "{volumes: [{name: data, nfs: {server: files.example.com, path: /data}}]}",
        condition=_volume(has("nfs") | equals("csi.driver", "nfs.csi.k8s.io")),
    ),
    Rule(
        "block-device",
        "STO-09",
        Level.ERROR,
        "Windows containers get no raw block devices",
        "Only file systems can be mounted.",
        "use volumeMounts, and volumeMode: Filesystem in the claim",
        STORAGE_PAGE,
        r"{volumes: [{name: data, persistentVolumeClaim: {claimName: data}}], "
        r"containers: [{volumeMounts: [{name: data, mountPath: 'C:\data'}]}]}",
        "{volumes: [{name: data, persistentVolumeClaim: {claimName: data}}], "
        "containers: [{volumeDevices: [{name: data, devicePath: /dev/xvda}]}]}",
        condition=in_containers(exists("volumeDevices", has("name"))),
    ),
    Rule(
        "memory-volume",
        "STO-09",
        Level.WARNING,
        "Windows has no volumes in memory",
        "The kubelet makes a folder on the node's disk instead (mount_windows.go of k8s.io/mount-utils 0.37.1).",
        "remove medium; data that must not reach a disk needs another place",
        STORAGE_PAGE,
        "{volumes: [{name: data, emptyDir: {}}]}",
        "{volumes: [{name: data, emptyDir: {medium: Memory}}]}",
        condition=_volume(equals("emptyDir.medium", "Memory")),
    ),
    Rule(
        "removed-volume",
        "STO-01",
        Level.WARNING,
        "the kubelet no longer has the driver of this volume",
        "Kubernetes removed awsElasticBlockStore and azureDisk in 1.27, gcePersistentDisk in 1.28, azureFile in 1.30.",
        "install the CSI driver of the cloud, and claim the volume by a StorageClass of that driver",
        VOLUMES_PAGE,
        "{volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}",
        "{volumes: [{name: data, awsElasticBlockStore: {volumeID: vol-1}}]}",
        condition=_in_tree,
    ),
    Rule(
        "other-clouds-volume",
        "STO-01",
        Level.ERROR,
        "the volume belongs to another cloud",
        "The cluster's nodes cannot attach it.",
        "use a volume of the cluster's cloud",
        VOLUMES_PAGE,
        "{volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}",
        "{volumes: [{name: data, gcePersistentDisk: {pdName: disk}}]}",
        condition=_other_cloud,
        cluster="{cloud: aws, pools: {web: {os: windows-2022}}}",
    ),
    Rule(
        "linux-only-volume",
        "STO-01",
        Level.ERROR,
        "this type of volume has no driver for Windows",
        "The pod stays in ContainerCreating.",
        "use SMB, or a CSI driver with a Windows node plug-in",
        STORAGE_PAGE,
        "{volumes: [{name: data, emptyDir: {}}]}",
        "{volumes: [{name: data, iscsi: {targetPortal: '10.0.0.1:3260', iqn: 'iqn.2001-04.com.example:a', lun: 0}}]}",
        condition=_volume(any_of([has(name) for name in LINUX_VOLUMES])),
    ),
    Rule(
        "flex-volume",
        "STO-02",
        Level.WARNING,
        "FlexVolume is deprecated since Kubernetes 1.23",
        "Its scripts must be on each node; Mullion installs none.",
        "use a CSI driver",
        "https://kubernetes.io/docs/concepts/storage/volumes/#flexvolume",
        "{volumes: [{name: data, csi: {driver: smb.csi.k8s.io}}]}",
        "{volumes: [{name: data, flexVolume: {driver: microsoft.com/smb.cmd}}]}",
        condition=_flex,
    ),
    Rule(
        "runtime-pipe",
        "SEC-08",
        Level.WARNING,
        "the pod mounts the named pipe of the container runtime",
        "Whoever reaches the pipe controls the host. Other named pipes are fine.",
        "remove the volume, or run the program as a HostProcess pod, whose manifest shows its rights on the host",
        "https://github.com/kubernetes/enhancements/tree/master/keps/sig-windows/116-windows-node-support",
        r"{volumes: [{name: pipe, hostPath: {path: '\\.\pipe\own'}}]}",
        r"{volumes: [{name: pipe, hostPath: {path: '\\.\pipe\containerd-containerd'}}]}",
        condition=_volume(matches("hostPath.path", PIPES)),
    ),
)
