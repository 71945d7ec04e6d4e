"""Options of machines that the control plane and the pools share."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from components.spec.choices import Gate, PriorityClass
from components.spec.quantities import CPU, DURATION, MEMORY, check_cpu, check_duration, check_memory


class Model(BaseModel):
    """Frozen, and strict about unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def _form(form: re.Pattern[str]) -> Any:
    """The same form for editors; the check beside it words the error."""
    return Field(json_schema_extra={"pattern": f"^({form.pattern})$"})


Cpu = Annotated[str, AfterValidator(check_cpu), _form(CPU)]
Memory = Annotated[str, AfterValidator(check_memory), _form(MEMORY)]
Duration = Annotated[str, AfterValidator(check_duration), _form(DURATION)]


class Reserve(Model):
    """Resources kept from pods."""

    cpu: Cpu | None = None
    """CPU as a Kubernetes quantity, e.g. 500m."""
    memory: Memory | None = None
    """Memory as a Kubernetes quantity, e.g. 2Gi."""
    ephemeral_storage: Memory | None = None
    """Disk as a Kubernetes quantity, e.g. 1Gi."""


class Kubelet(Model):
    """The kubelet of a pool's or the control plane's machines."""

    system_reserved: Reserve = Reserve()
    """Kept for the operating system. Windows default: 2Gi, and the larger of 500m and a tenth of the cores."""
    kube_reserved: Reserve = Reserve()
    """Kept for Kubernetes' own processes."""
    eviction_hard: dict[str, str] = {}
    """Hard eviction thresholds by signal, e.g. memory.available: 500Mi. On Windows they only lower NodeAllocatable."""
    accept_low_reserve: bool = False
    """Allow a Windows pool to reserve less than 2Gi of memory for the system (RES-01)."""
    priority_class: PriorityClass | None = None
    """Windows only: priority class of the kubelet's process. Windows default: ABOVE_NORMAL_PRIORITY_CLASS."""
    verbosity: Annotated[int, Field(ge=0, le=10)] = 2
    """Log level of the kubelet (--v)."""
    config: dict[str, Any] = {}
    """KubeletConfiguration fields, merged last over what Mullion renders."""


class KubeProxy(Model):
    """The kube-proxy of a pool's or the control plane's machines."""

    dsr: bool = False
    """Windows only: direct server return for load-balanced traffic."""
    config: dict[str, Any] = {}
    """KubeProxyConfiguration fields, merged last over what Mullion renders."""


class Containerd(Model):
    """containerd of a pool's or the control plane's machines."""

    config: dict[str, Any] = {}
    """config.toml as nested tables, merged last over what Mullion renders."""


class Kubeadm(Model):
    """kubeadm on all Linux machines."""

    ignore_preflight: list[str] = []
    """Preflight checks that kubeadm only warns about, by kubeadm's own names."""
    config: dict[str, dict[str, Any]] = {}
    """Fields by document kind (ClusterConfiguration, InitConfiguration, JoinConfiguration), merged last."""


class Rollout(Model):
    """How a pool's machines are replaced."""

    max_unavailable: Annotated[int, Field(ge=1)] = 1
    """How many of the pool's machines may be missing at once."""
    drain: Duration | None = None
    """How long evicting pods may take before a machine is deleted, e.g. 10m."""
    gate: Gate | None = None
    """What a new machine must reach before the next is replaced."""
