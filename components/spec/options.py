"""Options of machines that the control plane and the pools share."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from components.spec.choices import Gate, PriorityClass, System
from components.spec.quantities import CPU, DURATION, MEMORY, check_cpu, check_duration, check_memory


class Model(BaseModel):
    """Frozen, and strict about unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def _form(form: re.Pattern[str]) -> Any:
    """Return the form for the JSON schema; the validator beside it words the error."""
    return Field(json_schema_extra={"pattern": f"^({form.pattern})$"})


Cpu = Annotated[str, AfterValidator(check_cpu), _form(CPU)]
Memory = Annotated[str, AfterValidator(check_memory), _form(MEMORY)]
Duration = Annotated[str, AfterValidator(check_duration), _form(DURATION)]


def _address(text: str) -> str:
    """Return the URL. Raises ValueError if machines cannot use it, or if a part of it may be a secret."""
    if not re.fullmatch(r"https?://[^/\s]+(/\S*)?", text):
        raise ValueError("it is not an http or https URL; write https://host/path")
    if "?" in text or "@" in text:
        raise ValueError("it has a query or a user, which may be a secret; write https://host/path")
    return text


Address = Annotated[str, AfterValidator(_address)]


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
    """Windows only: direct server return; Windows default: true. Off: 64 ports of the node for each Service port."""
    config: dict[str, Any] = {}
    """KubeProxyConfiguration fields, merged last over what Mullion renders."""


class Containerd(Model):
    """containerd of a pool's or the control plane's machines."""

    version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")] | None = None
    """containerd's version, e.g. 2.2.7. Default: a version that the Kubernetes minor is tested with."""
    mirrors: dict[Annotated[str, Field(pattern=r"^(\*|[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d+)?)$")], list[Address]] = {}
    """URLs that are asked before a registry, by the registry's host, e.g. registry.k8s.io; *: before every registry."""
    config: dict[str, Any] = {}
    """config.toml as nested tables, merged last over what Mullion renders."""


class Kubeadm(Model):
    """kubeadm on all Linux machines."""

    ignore_preflight: list[str] = []
    """Preflight checks that kubeadm only warns about, by kubeadm's own names."""
    config: dict[str, dict[str, Any]] = {}
    """Fields by document kind (ClusterConfiguration, InitConfiguration, JoinConfiguration), merged last."""


class Addons(Model):
    """Add-ons beside those that every cluster has."""

    metrics_server: bool = False
    """metrics-server: what kubectl top and autoscalers read. It trusts kubelets by the cluster's own authority."""


class Rollout(Model):
    """How a pool's machines are replaced."""

    max_unavailable: Annotated[int, Field(ge=1)] = 1
    """How many of the pool's machines may be missing at once."""
    drain: Duration = "10m"
    """How long evicting pods may take before a machine is deleted. Pods left after it stop the roll."""
    gate: Gate = Gate.READY
    """What members must have reached before the next goes. registered: their last phase; ready: also Node Ready."""


_SHA256, _SHA512 = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{128}")


def _check_digest(form: re.Pattern[str], length: int) -> AfterValidator:
    def check(text: str) -> str:
        if not form.fullmatch(text):
            raise ValueError(f"it has {len(text)} characters; write {length} hexadecimal digits in lower case")
        return text

    return AfterValidator(check)


def _check_unknown(text: str) -> str:
    if text != "unknown":
        raise ValueError("the only value is unknown; write a known digest as sha256 or sha512")
    return text


Sha256 = Annotated[str, _check_digest(_SHA256, 64), _form(_SHA256)]
Sha512 = Annotated[str, _check_digest(_SHA512, 128), _form(_SHA512)]
Unknown = Annotated[str, AfterValidator(_check_unknown), _form(re.compile("unknown"))]


class ArtifactEntry(Model):
    """One file that machines download, always for amd64."""

    name: Annotated[str, Field(min_length=1)]
    """What it is, e.g. kubernetes-node."""
    version: Annotated[str, Field(min_length=1)]
    """Its version, e.g. 1.37.1."""
    os: System
    """linux or windows."""
    url: Address
    """Where it is, whole."""
    sha256: Sha256 | None = None
    """Its sha256, in lower-case hexadecimal digits. One of sha256, sha512 and digest is needed."""
    sha512: Sha512 | None = None
    """Its sha512, in lower-case hexadecimal digits."""
    digest: Unknown | None = None
    """unknown: nobody published a digest; `plan` works with it, `up` refuses."""
    size: Annotated[int, Field(ge=1)] | None = None
    """Bytes, where known."""
    source: str = "the stack's own entry"
    """Where the digest was read."""

    @model_validator(mode="after")
    def _one_digest(self) -> "ArtifactEntry":
        written = [name for name in ("sha256", "sha512", "digest") if getattr(self, name) is not None]
        if len(written) != 1:
            has = " and ".join(written) or "none of them"
            raise ValueError(f"it has {has}; write exactly one of sha256, sha512 and digest")
        return self


class Artifacts(Model):
    """Where downloads come from, and what they must be."""

    file: Annotated[str, Field(min_length=1)] | None = None
    """JSON file of entries, from the folder of Pulumi.yaml on; read with the stack, it becomes part of `entries`."""
    entries: list[ArtifactEntry] = []
    """Entries that add to the built-in ones, or take the place of those with the same name, version and os."""
    mirror: Address | None = None
    """Base URL of a mirror: every https://host/path is fetched from <mirror>/host/path, with the same digest."""
