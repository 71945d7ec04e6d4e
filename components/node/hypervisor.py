"""Hyper-V on a Windows machine: the role, the check that its hypervisor runs, and RuntimeClasses of isolated pods."""

from collections.abc import Iterator

from components.node.kinds import Step, step
from components.node.plan import Phase, Scope
from components.node.role import Role

OVERHEAD = {"memory": "1Gi", "cpu": "100m"}
"""What the scheduler counts for a pod's virtual machine. It has 1,024 MiB and two processors, whatever the pod's limits
are, because the kubelet gives no size for a sandbox on Windows; an annotation gives another one (microsoft/hcsshim,
internal/oci/uvm.go and internal/uvm/create.go). So the memory is that of a whole virtual machine without annotation,
which counts for pods without requests; SIG Windows' tests add half of it. The processor's figure is theirs
(kubernetes-sigs/windows-testing, helpers/hyper-v-mutating-webhook/hyperv-runtimeclass.yaml)."""


def features(role: Role) -> Iterator[Step]:
    """Yield the step that installs Hyper-V; none if the machine does not offer it.

    containerd's own tests on Azure install it so (.github/workflows/windows-hyperv-periodic.yml), with its tools too:
    these are left out here, because containerd calls the Host Compute Service, which comes with the feature Containers.
    The cmdlet refuses a processor without nested virtualisation (502).
    """
    if role.hyperv:
        yield step("feature", "hyper-v", feature="Hyper-V")


def phases(role: Role) -> tuple[Phase, ...]:
    """Return the phase that checks, at every boot, that the hypervisor runs; empty without Hyper-V.

    It is not part of images, because a machine may be of another size than the one that made its image.
    """
    return (Phase("hypervisor", Scope.NODE, (step("hypervisor", "hypervisor"),)),) if role.hyperv else ()
