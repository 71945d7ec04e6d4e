"""Hyper-V on a Windows machine: the role, the check that its hypervisor runs, and RuntimeClasses of isolated pods."""

from collections.abc import Iterator

from components.node.kinds import Step, step
from components.node.plan import Phase, Scope
from components.node.role import Role

OVERHEAD = {"memory": "512Mi", "cpu": "100m"}
"""What a pod's virtual machine takes beside its containers, so that the scheduler counts it. The figures are those of
SIG Windows' tests (kubernetes-sigs/windows-testing, helpers/hyper-v-mutating-webhook/hyperv-runtimeclass.yaml). The
virtual machine has the memory of its pod's limits, or 1024 MiB without limits, and takes memory of the node only as it
uses it (microsoft/hcsshim, internal/uvm/create.go: MemorySizeInMB and AllowOvercommit)."""


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
