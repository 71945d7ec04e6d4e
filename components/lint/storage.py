"""Rules about claims, volumes and classes that Windows pods in the same manifests use, and about isolation."""

from collections.abc import Iterator, Mapping
from typing import Any

from components import releases
from components.lint.conditions import Place, items, read
from components.lint.documents import POD_PLACES, Manifests, Object, at, text
from components.lint.rule import STORAGE_PAGE, Context, Level, Rule, Scope
from components.lint.targets import windows_workloads

NOT_IN_POLICIES = "a policy sees one object, not the pods that use it"
HYPERV_PAGE = "https://kubernetes.io/docs/concepts/windows/intro/"
ISOLATION = "experimental.windows.kubernetes.io/isolation-type"


def _claims(manifests: Manifests) -> list[tuple[Object, Any, Place]]:
    """Return the claims of Windows pods: the object that has the claim's spec, the spec, and its place."""
    by_name: dict[tuple[str, str], list[Object]] = {}
    for claim in manifests.of("PersistentVolumeClaim"):
        by_name.setdefault((claim.namespace, claim.name), []).append(claim)
    found: list[tuple[Object, Any, Place]] = []
    used: dict[int, Object] = {}
    for workload in manifests.once(windows_workloads):
        templates = items(read(workload.data, "spec.volumeClaimTemplates"))
        for index, template in enumerate(templates):
            found.append((workload, read(template, "spec"), ("spec", "volumeClaimTemplates", index, "spec")))
        for volume in items(read(workload.pod, "volumes")):
            if name := text(volume, "persistentVolumeClaim.claimName"):
                used |= {id(claim): claim for claim in by_name.get((workload.namespace, name), [])}
    return found + [(claim, read(claim.data, "spec"), ("spec",)) for claim in used.values()]


def _names_of_claims(manifests: Manifests) -> set[tuple[str, str]]:
    """Return the field and the name by which claims of Windows pods choose a StorageClass or PersistentVolume."""
    fields = ("storageClassName", "volumeName")
    return {(field, text(spec, field)) for _, spec, _ in manifests.once(_claims) for field in fields}


def _block_places(manifests: Manifests) -> dict[int, Place]:
    """Return the first place that asks for a block device, by the id of the object that has it."""
    found: dict[int, Place] = {}
    for owner, spec, place in manifests.once(_claims):
        if read(spec, "volumeMode") == "Block":
            found.setdefault(id(owner), (*place, "volumeMode"))
    return found


def _used(item: Object, manifests: Manifests) -> bool:
    """Return whether a claim of a Windows pod names a StorageClass or PersistentVolume."""
    field = "storageClassName" if item.kind == "StorageClass" else "volumeName"
    return bool(item.name) and (field, item.name) in manifests.once(_names_of_claims)


def _block_claims(item: Object, manifests: Manifests, _context: Context) -> Iterator[Place]:
    if place := manifests.once(_block_places).get(id(item)):
        yield place


def _nfs(item: Object, manifests: Manifests, _context: Context) -> Iterator[Place]:
    if not _used(item, manifests):
        return
    if item.kind == "StorageClass" and "nfs" in text(item.data, "provisioner"):
        yield ("provisioner",)
    if read(item.data, "spec.nfs") is not None:
        yield ("spec", "nfs")
    if "nfs" in text(item.data, "spec.csi.driver"):
        yield ("spec", "csi", "driver")


def _expansion(item: Object, manifests: Manifests, _context: Context) -> Iterator[Place]:
    if item.data.get("allowVolumeExpansion") is True and _used(item, manifests):
        yield ("allowVolumeExpansion",)


def _legacy_hyperv(item: Object, _manifests: Manifests, context: Context) -> Iterator[Place]:
    place = (*POD_PLACES.get(item.kind, ()), "metadata", "annotations")
    annotations = at(item.data, place)
    named = isinstance(annotations, Mapping) and ISOLATION in annotations
    if named and not releases.older(context.minor, "1.21"):
        yield (*place, ISOLATION)


def _hypervisor(item: Object, _manifests: Manifests, context: Context) -> Iterator[Place]:
    if item.data.get("handler") == "runhcs-wcow-hypervisor" and not context.hyperv:
        yield ("handler",)


_CLAIM = "{kind: Pod, volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}"

RULES = (
    Rule(
        "block-claim",
        "STO-09",
        Level.ERROR,
        "a Windows pod uses a claim with volumeMode: Block",
        "Windows containers get no raw block devices.",
        "write volumeMode: Filesystem",
        STORAGE_PAGE,
        f"[{_CLAIM}, {{kind: PersistentVolumeClaim, name: data, spec: {{volumeMode: Filesystem}}}}]",
        f"[{_CLAIM}, {{kind: PersistentVolumeClaim, name: data, spec: {{volumeMode: Block}}}}]",
        scope=Scope.OBJECTS,
        find=_block_claims,
        kinds=("PersistentVolumeClaim", "StatefulSet"),
        judge=NOT_IN_POLICIES,
    ),
    Rule(
        "nfs-storage",
        "STO-08",
        Level.ERROR,
        "a Windows pod claims an NFS volume",
        "The kubelet on Windows has no NFS client.",
        "use SMB, by the CSI driver smb.csi.k8s.io",
        STORAGE_PAGE,
        f"[{_CLAIM}, {{kind: PersistentVolumeClaim, name: data, spec: {{storageClassName: files}}}}, "
        "{kind: StorageClass, name: files, provisioner: smb.csi.k8s.io}]",
        f"[{_CLAIM}, {{kind: PersistentVolumeClaim, name: data, spec: {{storageClassName: files}}}}, "
        "{kind: StorageClass, name: files, provisioner: nfs.csi.k8s.io}]",
        scope=Scope.OBJECTS,
        find=_nfs,
        kinds=("PersistentVolume", "StorageClass"),
        judge=NOT_IN_POLICIES,
    ),
    Rule(
        "volume-expansion",
        "STO-10",
        Level.WARNING,
        "a Windows pod uses a StorageClass with allowVolumeExpansion",
        "The mounted file system does not grow with the in-tree drivers; CSI drivers differ.",
        "remove allowVolumeExpansion, or try it with your CSI driver first",
        STORAGE_PAGE,
        f"[{_CLAIM}, {{kind: PersistentVolumeClaim, name: data, spec: {{storageClassName: disks}}}}, "
        "{kind: StorageClass, name: disks, provisioner: ebs.csi.aws.com, allowVolumeExpansion: false}]",
        f"[{_CLAIM}, {{kind: PersistentVolumeClaim, name: data, spec: {{storageClassName: disks}}}}, "
        "{kind: StorageClass, name: disks, provisioner: ebs.csi.aws.com, allowVolumeExpansion: true}]",
        scope=Scope.OBJECTS,
        find=_expansion,
        kinds=("StorageClass",),
        judge=NOT_IN_POLICIES,
    ),
    Rule(
        "hyperv-annotation",
        "SEC-06",
        Level.ERROR,
        "the annotation for Hyper-V isolation has no effect since Kubernetes 1.21",
        "It needed dockershim and the feature gate HyperVContainer; Kubernetes removed both.",
        "remove it",
        HYPERV_PAGE,
        "[{kind: Pod}]",
        f"[{{kind: Pod, annotations: {{{ISOLATION}: hyperv}}}}]",
        scope=Scope.OBJECTS,
        find=_legacy_hyperv,
        kinds=tuple(POD_PLACES),
        judge="the API server accepts unknown annotations, and a refusal would block updates of existing pods",
    ),
    Rule(
        "hyperv-handler",
        "SEC-06",
        Level.WARNING,
        "the RuntimeClass names Hyper-V isolation, which no pool of the stack offers",
        "The handler runhcs-wcow-hypervisor needs Hyper-V and machines with nested virtualisation.",
        "write isolation: hyperv in a Windows pool of the stack (without --stack no pool is known), or handler: "
        "runhcs-wcow-process",
        HYPERV_PAGE,
        "[{kind: RuntimeClass, name: own, handler: runhcs-wcow-process}]",
        "[{kind: RuntimeClass, name: own, handler: runhcs-wcow-hypervisor}]",
        scope=Scope.OBJECTS,
        find=_hypervisor,
        kinds=("RuntimeClass",),
        judge="administrators alone create RuntimeClasses",
    ),
)
