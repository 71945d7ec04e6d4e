"""A rule about manifests: what it judges, why, what to write instead, and examples of both verdicts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from components import releases
from components.lint.conditions import Condition, Place
from components.lint.documents import Manifests, Object
from components.spec.choices import Isolation, NetworkMode, Runtime
from components.spec.models import ClusterSpec

KUBERNETES = "https://kubernetes.io/docs/concepts/"
WINDOWS_PAGE = f"{KUBERNETES}windows/intro/"
STORAGE_PAGE = f"{KUBERNETES}storage/windows-storage/"
NETWORK_PAGE = f"{KUBERNETES}services-networking/windows-networking/"
MEMORY_PAGE = f"{KUBERNETES}configuration/windows-resource-management/"
GUIDE = f"{KUBERNETES}windows/user-guide/"
VALIDATION = "https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/apis/core/validation/validation.go"


class Level(str, Enum):
    """How bad a finding is."""

    ERROR = "error"
    """The workload does not run, or does not do what its manifest says."""
    WARNING = "warning"
    """A part of the manifest has no effect, or fails under conditions that the manifest does not show."""
    NOTE = "note"
    """Advice."""


class Scope(str, Enum):
    """The pods that a rule judges. Linux pods are judged by no rule."""

    WINDOWS = "Windows pods"
    """Pods that select Windows, and pods without an operating system that have a Windows image."""
    UNDECLARED = "pods that name no operating system"
    OBJECTS = "objects other than pods"


@dataclass(frozen=True)
class Context:
    """What is known of the cluster; without a stack only the tables of Kubernetes' releases."""

    spec: ClusterSpec | None = None

    @property
    def minor(self) -> str:
        """Return the minor; without a stack the newest."""
        return releases.minor(self.spec.kubernetes) if self.spec else [*releases.supported_minors()][-1]

    @property
    def network(self) -> NetworkMode | None:
        """Return the network mode; None without a stack."""
        return self.spec.network.mode if self.spec else None

    @property
    def runtimes(self) -> frozenset[Runtime]:
        """Return the runtimes of the Windows pools; without a stack containerd."""
        return frozenset(pool.runtime for pool in self._windows()) or frozenset({Runtime.CONTAINERD})

    @property
    def windows(self) -> tuple[releases.WindowsRelease, ...]:
        """Return the Windows releases of the pools, by name; none without a stack."""
        return tuple(releases.windows(name) for name in sorted({pool.os.value for pool in self._windows()}))

    @property
    def taints(self) -> tuple[tuple[str, ...], ...]:
        """Return the taints that keep pods away, of each Windows pool; none without a stack."""
        effects = (":NoSchedule", ":NoExecute")
        return tuple(tuple(each for each in pool.taints if each.endswith(effects)) for pool in self._windows())

    @property
    def hyperv(self) -> frozenset[str]:
        """Return the Windows releases with a pool that offers Hyper-V isolation; none without a stack."""
        return frozenset(pool.os.value for pool in self._windows() if pool.isolation is Isolation.HYPERV)

    @property
    def direct_return(self) -> bool:
        """Return whether kube-proxy of all Windows pools uses direct server return; False without a stack."""
        pools = self._windows()
        return bool(pools) and all(pool.kube_proxy.dsr for pool in pools)

    def _windows(self) -> list[Any]:
        return [pool for pool in self.spec.pools.values() if pool.os.is_windows] if self.spec else []


Find = Callable[[Object, Manifests, Context], Iterator[Place]]
"""Return the places of an object that break a rule, which may depend on other objects of the manifests."""


@dataclass(frozen=True)
class Rule:
    """A rule. Either `condition` describes what it finds in one pod, or `find` looks at several objects."""

    id: str
    requirements: str
    """Ids of requirements, separated by spaces."""
    level: Level
    what: str
    """What is wrong."""
    why: str
    fix: str
    source: str
    """Address of the page or source file that says so."""
    accepted: str
    """YAML that the rule accepts: fields of a pod's spec (components/lint/examples.py adds the rest), or objects."""
    refused: str
    """The same, which the rule refuses."""
    scope: Scope = Scope.WINDOWS
    condition: Condition | Callable[[Context], Condition | None] | None = None
    """What is wrong in the spec of a pod; a function, if it depends on the cluster. It returns None if the rule
    does not apply."""
    find: Find | None = None
    kinds: tuple[str, ...] = ()
    """Kinds of objects that the rule judges. Empty: all with a pod."""
    judge: str = "policy"
    """Who judges in the cluster: policy, api (the API server refuses it itself), gmsa (the policy of
    components/node/gmsa_policies.py), or the reason why nobody does."""
    cluster: str = ""
    """YAML of a cluster's options that the examples need; empty: the rule also judges without a stack."""

    def applies(self, context: Context) -> Condition | None:
        """Return the condition in a cluster; None if the rule does not apply there."""
        return self.condition(context) if callable(self.condition) else self.condition
