"""The operating system that a pod is for, as conditions about its spec."""

from functools import lru_cache

from components import releases
from components.lint.conditions import Condition, any_of, equals, every, exists, has, matches, one_of, shared
from components.lint.documents import Manifests, Object

OS_LABELS = ("kubernetes.io/os", "beta.kubernetes.io/os")
BUILD_LABEL = "node.kubernetes.io/windows-build"
REQUIRED = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"

WINDOWS_IMAGE = r"(^|/)windows/|nanoserver|servercore|ltsc20[0-9][0-9]|:[^/]*windows"
"""Names and tags of Microsoft's base images, and of images whose tags name their base."""
LINUX_IMAGE = (
    r"(^|/)(alpine|busybox|debian|ubuntu)(:|@|$)|"
    r":[^/]*(alpine|bookworm|bullseye|buster|debian|distroless|focal|jammy|linux|noble|trixie|ubuntu)"
)
"""Names and tags of Linux distributions."""

_TAG = r"^[^@]*:[^/@]*"
"""A name and the start of its tag. Digests are never read: their digits name no release."""


def _numbers(versions: str) -> str:
    """Return a pattern of tags with one of these version numbers, in the forms that only Windows images have."""
    return (
        rf"^[^@]*:({versions})(@|$)|{_TAG}(nanoserver|servercore)-({versions})([-@]|$)|"
        rf"^mcr\.microsoft\.com/windows/[^@]*:({versions})([-@]|$)"
    )


_TAGS = {
    "windows-2019": f"{_TAG}ltsc2019|{_numbers('1809')}",
    "windows-2022": f"{_TAG}ltsc2022",
    "windows-2025": f"{_TAG}ltsc2025",
}
OTHER_TAGS = f"{_TAG}ltsc2016|{_numbers('1709|1803|1903|1909|2004|20[hH]2')}"
"""Tags of Windows releases that no pool can have: 2016 and the Semi-Annual Channel."""


def in_containers(condition: Condition) -> Condition:
    """Return a condition about a pod: one of its containers or init containers meets the inner one."""
    lists = any_of([exists(name, condition) for name in ("containers", "initContainers")])
    return Condition(
        lists.find,
        lambda _name, depth: f"variables.containers.exists(v{depth}, {condition.cel(f'v{depth}', depth + 1)})",
    )


def _selector(os: str) -> Condition:
    return any_of([equals(f"nodeSelector[{label}]", os) for label in OS_LABELS])


def _term(os: str) -> Condition:
    return exists(
        "matchExpressions",
        one_of("key", OS_LABELS) & equals("operator", "In") & every("values", equals("", os)),
    )


_BUILD_TERM = exists("matchExpressions", equals("key", BUILD_LABEL) & equals("operator", "In"))
_NOT_WINDOWS_TERM = exists(
    "matchExpressions",
    one_of("key", OS_LABELS) & equals("operator", "NotIn") & exists("values", equals("", "windows")),
)
_CLASSES = [name for each in releases.WINDOWS.values() for name in (each.runtime_class, each.hyperv_class)]

_NAMES_LINUX = equals("os.name", "linux") | _selector("linux") | every(REQUIRED, _term("linux") | _NOT_WINDOWS_TERM)
_NAMES_WINDOWS = (
    equals("os.name", "windows")
    | _selector("windows")
    | has(f"nodeSelector[{BUILD_LABEL}]")
    | one_of("runtimeClassName", _CLASSES)
    | every(REQUIRED, _term("windows") | _BUILD_TERM)
)
_PLACED = has("nodeName") | has("nodeSelector[kubernetes.io/hostname]")
_LOOKS = in_containers(matches("image", WINDOWS_IMAGE) | has("securityContext.windowsOptions")) | has(
    "securityContext.windowsOptions"
)

NAMES_LINUX = shared("linux", _NAMES_LINUX)
NAMES_WINDOWS = shared("namesWindows", _NAMES_WINDOWS)
LOOKS_WINDOWS = shared("looksWindows", _LOOKS)
"""A Windows image, or securityContext.windowsOptions."""
WINDOWS = shared("windows", ~NAMES_LINUX & (NAMES_WINDOWS | LOOKS_WINDOWS))
UNDECLARED = shared("undeclared", ~NAMES_LINUX & ~NAMES_WINDOWS & ~shared("placed", _PLACED))
"""Names no operating system. A pod that names its node does not need to."""
_HOST_PROCESS = equals("securityContext.windowsOptions.hostProcess", True)
HOST_PROCESS = shared("hostProcess", _HOST_PROCESS | in_containers(_HOST_PROCESS))

VARIABLES: dict[str, Condition] = {
    "linux": _NAMES_LINUX,
    "namesWindows": _NAMES_WINDOWS,
    "looksWindows": _LOOKS,
    "placed": _PLACED,
    "windows": ~NAMES_LINUX & (NAMES_WINDOWS | LOOKS_WINDOWS),
    "undeclared": ~NAMES_LINUX & ~NAMES_WINDOWS & ~shared("placed", _PLACED),
    "hostProcess": _HOST_PROCESS | in_containers(_HOST_PROCESS),
}
"""Variables of the policies, each before those that use it."""


@lru_cache
def of_release(os: str) -> Condition:
    """Return a condition about a container: the tag of its image names this Windows release."""
    return matches("image", _TAGS[os])


def selects_release(release: releases.WindowsRelease) -> Condition:
    """Return a condition about a pod: it selects nodes of this Windows release."""
    classes = [release.runtime_class, release.hyperv_class]
    return equals(f"nodeSelector[{BUILD_LABEL}]", release.build) | one_of("runtimeClassName", classes)


SELECTS_ANY_RELEASE = (
    has(f"nodeSelector[{BUILD_LABEL}]") | one_of("runtimeClassName", _CLASSES) | every(REQUIRED, _BUILD_TERM)
)


def windows_workloads(manifests: Manifests) -> tuple[Object, ...]:
    """Return the objects with a Windows pod."""
    return tuple(each for each in manifests.workloads() if WINDOWS.holds(each.pod))


_ANY_KEY = equals("operator", "Exists") & ~matches("key", ".")
_ANY_EFFECT = ~matches("effect", ".")
TOLERATES_ALL = exists("tolerations", _ANY_KEY & _ANY_EFFECT)
"""Tolerates every taint: a toleration without a key and without an effect (ToleratesTaint in
k8s.io/api/core/v1/toleration.go of 0.37.1)."""


def tolerates_all_with(effect: str) -> Condition:
    """Return a condition about a pod: it tolerates every taint with an effect."""
    return exists("tolerations", _ANY_KEY & (_ANY_EFFECT | equals("effect", effect)))


def tolerates(taint: str) -> Condition:
    """Return a condition about a pod: it tolerates a taint, key=value:Effect."""
    front, _, effect = taint.rpartition(":")
    key, _, value = front.partition("=")
    fits = equals("operator", "Exists") | (equals("value", value) if value else ~matches("value", "."))
    effects = _ANY_EFFECT | equals("effect", effect)
    return tolerates_all_with(effect) | exists("tolerations", equals("key", key) & fits & effects)


def tolerates_all_of(taints: tuple[str, ...]) -> Condition:
    """Return a condition about a pod: it tolerates all the taints of a pool; with no taint it always holds."""
    joined = Condition(lambda _value, at: [at], lambda _name, _depth: "true")
    for taint in taints:
        joined &= tolerates(taint)
    return joined
