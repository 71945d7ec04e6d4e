"""Options of machines that the control plane and the pools share."""

import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from components.spec.choices import Gate, PriorityClass, System
from components.spec.descriptions import descriptions
from components.spec.quantities import (
    CPU,
    DURATION,
    MEMORY,
    PERCENTAGE,
    WINDOW,
    check_cpu,
    check_duration,
    check_memory,
    check_share,
    check_window,
    share_of,
)


class Model(BaseModel):
    """Frozen, and strict about unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the model's JSON schema, with each property described by the docstring of its field."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema)["properties"]
        for name, text in descriptions(cls).items():
            properties[name]["description"] = text
        return schema


def _form(form: re.Pattern[str]) -> Any:
    """Return the pattern for the JSON schema; the validator beside it writes the error message."""
    return Field(json_schema_extra={"pattern": f"^({form.pattern})$"})


Cpu = Annotated[str, AfterValidator(check_cpu), _form(CPU)]
Memory = Annotated[str, AfterValidator(check_memory), _form(MEMORY)]
Duration = Annotated[str, AfterValidator(check_duration), _form(DURATION)]
DayWindow = Annotated[str, AfterValidator(check_window), _form(WINDOW)]
Share = Annotated[
    int | str,
    PlainValidator(check_share),
    WithJsonSchema({"type": ["integer", "string"], "minimum": 1, "pattern": f"^({PERCENTAGE.pattern})$"}),
]


def _address(text: str) -> str:
    """Return the URL. Raises ValueError if machines cannot use it, or if a part of it may be a secret."""
    if not re.fullmatch(r"https?://[^/\s]+(/\S*)?", text):
        raise ValueError("it is not an http or https URL; write https://host/path")
    if "?" in text or "@" in text:
        raise ValueError("it has a query or a user, which may be a secret; write https://host/path")
    return text


_IMAGE_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def _image_digest(text: str) -> str:
    """Return the digest of an image. Raises ValueError if it is of another form."""
    if not _IMAGE_DIGEST.fullmatch(text):
        raise ValueError("it is not the digest of an image; write sha256: and 64 hexadecimal digits in lower case")
    return text


IMAGE = r"[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
"""Complete name of an image with a tag: registry, path, tag (distribution/reference, the grammar of references)."""
ImageName = Annotated[str, Field(pattern=f"^{IMAGE}$")]
ImageDigest = Annotated[str, AfterValidator(_image_digest), _form(_IMAGE_DIGEST)]

Address = Annotated[str, AfterValidator(_address)]


class Reserve(Model):
    """Resources that pods cannot use."""

    cpu: Cpu | None = None
    """CPU as a Kubernetes quantity, e.g. 500m."""
    memory: Memory | None = None
    """Memory as a Kubernetes quantity, e.g. 2Gi."""
    ephemeral_storage: Memory | None = None
    """Disk as a Kubernetes quantity, e.g. 1Gi."""


class Kubelet(Model):
    """The kubelet of a pool's or the control plane's machines."""

    system_reserved: Reserve = Reserve()
    """Reserved for the operating system. Default on Windows: 2Gi, and a tenth of the cores (at least 500m)."""
    kube_reserved: Reserve = Reserve()
    """Reserved for kubelet and container runtime. Default of Linux pools: by size and max_pods, as GKE and EKS do."""
    eviction_hard: dict[str, str] = {}
    """Hard eviction thresholds by signal, e.g. memory.available: 500Mi; signals left out keep the kubelet's default."""
    accept_low_reserve: bool = False
    """Allow system_reserved.memory below 2Gi on Windows (RES-01)."""
    priority_class: PriorityClass | None = None
    """Priority class of the kubelet's process; Windows only. Default there: ABOVE_NORMAL_PRIORITY_CLASS."""
    verbosity: Annotated[int, Field(ge=0, le=10)] = 2
    """Log level of the kubelet (--v), 0 to 10."""
    config: dict[str, Any] = {}
    """Fields of KubeletConfiguration; they override those that Mullion writes."""


class KubeProxy(Model):
    """The kube-proxy of a pool's or the control plane's machines."""

    dsr: bool = False
    """Direct server return; Windows only. Default there: true (false takes 64 node ports for each Service port)."""
    config: dict[str, Any] = {}
    """Fields of KubeProxyConfiguration; they override those that Mullion writes."""


class Containerd(Model):
    """containerd of a pool's or the control plane's machines."""

    version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")] | None = None
    """Version of containerd, e.g. 2.2.7. Default: the newest that is tested with the Kubernetes minor."""
    mirrors: dict[Annotated[str, Field(pattern=r"^(\*|[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d+)?)$")], list[Address]] = {}
    """URLs of mirrors, by host of the registry (e.g. registry.k8s.io; * for all). The registry itself is asked last."""
    config: dict[str, Any] = {}
    """Nested tables of config.toml; they override those that Mullion writes."""


class Kubeadm(Model):
    """kubeadm on all Linux machines."""

    ignore_preflight: list[str] = []
    """Names of preflight checks that are warnings instead of errors (--ignore-preflight-errors)."""
    config: dict[str, dict[str, Any]] = {}
    """Fields of ClusterConfiguration, InitConfiguration and JoinConfiguration, over Mullion's; null keeps those."""


class Addons(Model):
    """Optional add-ons."""

    metrics_server: bool = False
    """Install metrics-server, which `kubectl top` and autoscalers read."""


class Rollout(Model):
    """How a pool's machines are replaced."""

    max_unavailable: Share = 1
    """Machines of the pool that are replaced at once (a wave): a number, or a percentage of `count`, at least 1."""
    drain: Duration = "10m"
    """Time limit for evicting the pods of one machine, e.g. 90s, 10m, 2h. Pods that remain stop the roll."""
    require_drain: bool = True
    """Replace no worker that cannot be drained because the Kubernetes API does not answer. false: only warn."""
    gate: Gate = Gate.READY
    """What new nodes must reach before the next wave: registered (in the API, services run) or ready (Node Ready)."""

    canary: Duration | None = None
    """Replace the pool's first machine alone, and watch it this long, e.g. 30m, before the others. None: no canary."""

    def wave(self, count: int) -> int:
        """Return how many machines of a pool of this count are replaced at the same time."""
        return share_of(self.max_unavailable, count)


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
    """Name of the program, e.g. kubernetes-node."""
    version: Annotated[str, Field(min_length=1)]
    """Version of the program, e.g. 1.37.1."""
    os: System
    """Operating system of the program: linux or windows."""
    url: Address
    """Complete URL, without user and query."""
    fallbacks: list[Address] = []
    """URLs of the same file, which machines ask in order if those before them fail; unused with a mirror."""
    sha256: Sha256 | None = None
    """SHA-256, 64 hexadecimal digits in lower case. Write exactly one of sha256, sha512 and digest."""
    sha512: Sha512 | None = None
    """SHA-512, 128 hexadecimal digits in lower case."""
    digest: Unknown | None = None
    """Write unknown if no digest is published: `plan` warns, `up` refuses."""
    size: Annotated[int, Field(ge=1)] | None = None
    """Size of the file, bytes."""
    source: str = "the stack's own entry"
    """Origin of the digest, e.g. the URL of a checksum file."""

    @model_validator(mode="after")
    def _one_digest(self) -> "ArtifactEntry":
        written = [name for name in ("sha256", "sha512", "digest") if getattr(self, name) is not None]
        if len(written) != 1:
            has = " and ".join(written) or "none of them"
            raise ValueError(f"it has {has}; write exactly one of sha256, sha512 and digest")
        return self


class ImageEntry(Model):
    """One container image in the file that `artifacts.file` names."""

    image: ImageName
    """Registry, path and tag, e.g. registry.k8s.io/pause:3.10."""
    digest: ImageDigest
    """Digest of the image's list of manifests, or of its only manifest."""
    source: str = ""
    """Where the digest was read."""


class Artifacts(Model):
    """Addresses and digests of the files that machines download."""

    file: Annotated[str, Field(min_length=1)] | None = None
    """Path of a JSON file with more `entries`, relative to Pulumi.yaml; `mullion pin` writes one."""
    entries: list[ArtifactEntry] = []
    """Files beside those of the catalogue; an entry replaces the catalogue's of the same name, version and os."""
    images: dict[ImageName, ImageDigest] = {}
    """Digests of container images, by registry/path:tag; others start by tag. `mullion pin images` finds them."""
    mirror: Address | None = None
    """Base URL of a mirror: https://HOST/PATH is downloaded from MIRROR/HOST/PATH; digests stay the same."""


class Proxy(Model):
    """The web proxy of the machines; they reach the cloud's own services without it."""

    http: str | None = None
    """Proxy for http URLs, as http://HOST:PORT."""
    https: str | None = None
    """Proxy for https URLs, as http://HOST:PORT."""
    no_proxy: list[str] = []
    """Hosts, domains and ranges reached without the proxy, added to those of the cluster and the cloud."""


class Rotation(Model):
    """Generations of keys, certificates and images: raise a number by one to renew that item."""

    certificate_authorities: Annotated[int, Field(ge=0)] = 0
    """Certificate authorities of cluster, front proxy and etcd; raise it three times to replace them (docs/pki.md)."""
    service_account: Annotated[int, Field(ge=0)] = 0
    """Keys that sign service-account tokens; tokens of the key before the newest stay valid until the next raise."""
    encryption: Annotated[int, Field(ge=0)] = 0
    """Keys that encrypt Secrets in etcd; a raise encrypts all Secrets with a new key and keeps older keys."""
    desired_state: Annotated[int, Field(ge=0)] = 0
    """Key that signs the desired-state pointer, which tells control planes their version."""
    administrator: Annotated[int, Field(ge=0)] = 0
    """Certificate of the administrator, in the kubeconfig."""
    images: Annotated[int, Field(ge=0)] = 0
    """Machine images; a raise looks up the newest and replaces the machines of pools whose image changed."""
