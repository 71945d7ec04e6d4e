"""Rules about the nodes that a pod may land on."""

from components import releases
from components.lint.conditions import Condition, any_of, equals, exists, has, matches, one_of
from components.lint.rule import GUIDE, VALIDATION, WINDOWS_PAGE, Context, Level, Rule, Scope
from components.lint.targets import (
    LINUX_IMAGE,
    LOOKS_WINDOWS,
    OS_LABELS,
    REQUIRED,
    SELECTS_ANY_RELEASE,
    TOLERATES_ALL,
    WINDOWS_IMAGE,
    in_containers,
    selects_release,
    tolerates_all_of,
    tolerates_all_with,
)

TAINTS_PAGE = "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/"
NOT_DAEMONS = (
    *("Pod", "PodTemplate", "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"),
)


def _reaches_windows(context: Context) -> Condition | None:
    """Return a condition: the pod tolerates the taints of a Windows pool; None without Windows pools."""
    if not context.taints:
        return None
    return any_of([tolerates_all_of(taints) for taints in dict.fromkeys(context.taints)])


def _no_os(context: Context) -> Condition | None:
    plain = ~LOOKS_WINDOWS & ~TOLERATES_ALL
    if context.spec is None:
        return plain
    reaches = _reaches_windows(context)
    return None if reaches is None else reaches & plain


def _tolerates_all(context: Context) -> Condition | None:
    return None if context.spec and not context.taints else ~LOOKS_WINDOWS & TOLERATES_ALL


def _daemons(context: Context) -> Condition | None:
    if context.spec is None:
        return ~LOOKS_WINDOWS & tolerates_all_with("NoSchedule")  # the effect of the default taint, os=windows
    reaches = _reaches_windows(context)
    return None if reaches is None else reaches & ~LOOKS_WINDOWS


def _not_tolerated(context: Context) -> Condition | None:
    reaches = _reaches_windows(context)
    return None if reaches is None else ~reaches & ~has("runtimeClassName") & ~has("nodeName")


def _not_isolated(context: Context) -> Condition | None:
    lacking = [each.hyperv_class for each in releases.WINDOWS.values() if each.os not in context.hyperv]
    return one_of("runtimeClassName", lacking) if context.spec and lacking else None


def _builds(context: Context) -> Condition | None:
    return ~SELECTS_ANY_RELEASE & ~has("nodeName") if len(context.windows) > 1 else None


def _no_nodes(context: Context) -> Condition | None:
    missing = [each for each in releases.WINDOWS.values() if each not in context.windows]
    return any_of([selects_release(each) for each in missing]) if context.spec and missing else None


_BETA_TERMS = exists(REQUIRED, exists("matchExpressions", equals("key", OS_LABELS[1])))
_UNIX_PATH = r"^/(bin|dev|etc|home|opt|proc|root|sbin|sys|tmp|usr|var)(/|$)"

RULES = (
    Rule(
        "windows-image-without-os",
        "SCH-07",
        Level.ERROR,
        "a pod with a Windows image or windowsOptions names no operating system",
        "The scheduler may choose a Linux node, which cannot run the image.",
        "add nodeSelector {kubernetes.io/os: windows}, or a RuntimeClass such as windows-2022",
        GUIDE,
        "{nodeSelector: {kubernetes.io/os: windows}, "
        "containers: [{image: mcr.microsoft.com/windows/servercore:ltsc2022}]}",
        "{nodeSelector: null, containers: [{image: mcr.microsoft.com/windows/servercore:ltsc2022}]}",
        scope=Scope.UNDECLARED,
        condition=LOOKS_WINDOWS,
    ),
    Rule(
        "no-os",
        "SCH-07",
        Level.WARNING,
        "the pod names no operating system",
        "In a cluster with Linux and Windows nodes only taints keep it from a node of the other system. With --stack, "
        "and in the cluster, this is judged only where the pod tolerates the taints of a Windows pool.",
        "add nodeSelector {kubernetes.io/os: linux}",
        GUIDE,
        "{nodeSelector: {kubernetes.io/os: linux}, containers: [{image: example.com/app:1}]}",
        "{nodeSelector: null, tolerations: [{key: os, operator: Exists}], containers: [{image: example.com/app:1}]}",
        scope=Scope.UNDECLARED,
        condition=_no_os,
        kinds=NOT_DAEMONS,
    ),
    Rule(
        "tolerates-everything",
        "SCH-08",
        Level.WARNING,
        "the pod tolerates every taint and names no operating system",
        "The taint of Windows nodes does not stop it.",
        "add nodeSelector {kubernetes.io/os: linux}, or name the keys that it tolerates",
        TAINTS_PAGE,
        "{nodeSelector: {kubernetes.io/os: linux}, tolerations: [{operator: Exists}], "
        "containers: [{image: example.com/app:1}]}",
        "{nodeSelector: null, tolerations: [{operator: Exists}], containers: [{image: example.com/app:1}]}",
        scope=Scope.UNDECLARED,
        condition=_tolerates_all,
        kinds=NOT_DAEMONS,
    ),
    Rule(
        "daemonset-on-windows",
        "SCH-08 SEC-07",
        Level.ERROR,
        "a DaemonSet that names no operating system tolerates the taints of Windows nodes",
        "It starts a pod on each Windows node, where a Linux image cannot run.",
        "add nodeSelector {kubernetes.io/os: linux}; make a second DaemonSet for Windows if the program exists there",
        TAINTS_PAGE,
        "{kind: DaemonSet, nodeSelector: {kubernetes.io/os: linux}, tolerations: [{operator: Exists}], "
        "containers: [{image: example.com/app:1}]}",
        "{kind: DaemonSet, nodeSelector: null, tolerations: [{operator: Exists}], "
        "containers: [{image: example.com/app:1}]}",
        scope=Scope.UNDECLARED,
        condition=_daemons,
        kinds=("DaemonSet",),
    ),
    Rule(
        "no-toleration",
        "SCH-03",
        Level.ERROR,
        "the pod selects Windows and tolerates the taints of no Windows pool",
        "It stays Pending: a selector alone does not pass the taint, and a toleration alone selects no node.",
        "name a RuntimeClass, or tolerate the taint: {key: os, operator: Equal, value: windows, effect: NoSchedule}",
        GUIDE,
        "{tolerations: [{key: os, operator: Equal, value: windows, effect: NoSchedule}]}",
        "{tolerations: null}",
        condition=_not_tolerated,
        cluster="{pools: {web: {os: windows-2022}}}",
    ),
    Rule(
        "no-build",
        "SCH-05",
        Level.WARNING,
        "the pod selects Windows but no build, and the pools have several",
        "An image runs only on nodes of its build.",
        "name a RuntimeClass such as windows-2022, or the label node.kubernetes.io/windows-build",
        GUIDE,
        "{runtimeClassName: windows-2022}",
        "{runtimeClassName: null}",
        condition=_builds,
        cluster="{pools: {web: {os: windows-2019}, api: {os: windows-2022}}}",
    ),
    Rule(
        "build-without-nodes",
        "SCH-05",
        Level.ERROR,
        "the pod selects nodes of a Windows build that no pool has",
        "The API server refuses a pod whose RuntimeClass does not exist; a pod with the label stays Pending.",
        "select the build of a pool, and use an image of that build; or add a pool",
        GUIDE,
        "{runtimeClassName: windows-2022}",
        "{runtimeClassName: windows-2019}",
        condition=_no_nodes,
        judge="a pool of that build may be added later",
        cluster="{pools: {web: {os: windows-2022}}}",
    ),
    Rule(
        "hyperv-class",
        "SEC-06",
        Level.ERROR,
        "the pod asks for Hyper-V isolation, which no pool of that build offers",
        "The API server refuses a pod whose RuntimeClass does not exist.",
        "write isolation: hyperv in a pool of that build (docs/hyper-v.md), or the RuntimeClass without -hyperv",
        WINDOWS_PAGE,
        "{runtimeClassName: windows-2022-hyperv}",
        "{runtimeClassName: windows-2025-hyperv}",
        condition=_not_isolated,
        judge="such a pool may be added later",
        cluster="{pools: {web: {os: windows-2022, isolation: hyperv}, api: {os: windows-2025}}}",
    ),
    Rule(
        "beta-os-label",
        "SCH-01",
        Level.WARNING,
        "the label beta.kubernetes.io/os is deprecated",
        "Kubernetes replaced it in 1.14.",
        "write kubernetes.io/os",
        "https://kubernetes.io/docs/reference/labels-annotations-taints/#beta-kubernetes-io-os-deprecated",
        "{nodeSelector: {kubernetes.io/os: windows}}",
        "{nodeSelector: {kubernetes.io/os: null, beta.kubernetes.io/os: windows}}",
        condition=has(f"nodeSelector[{OS_LABELS[1]}]") | _BETA_TERMS,
    ),
    Rule(
        "mixed-images",
        "LIN-11",
        Level.ERROR,
        "the pod has a Windows image and a Linux image",
        "All containers of a pod run on one node, so with one operating system.",
        "make two pods, and let them talk through a Service",
        WINDOWS_PAGE,
        "{containers: [{image: mcr.microsoft.com/windows/nanoserver:ltsc2022}]}",
        "{containers: [{image: mcr.microsoft.com/windows/nanoserver:ltsc2022}, {name: other, image: nginx:1.27-alpine, "
        "resources: {limits: {memory: 64Mi}}}]}",
        condition=in_containers(matches("image", WINDOWS_IMAGE)) & in_containers(matches("image", LINUX_IMAGE)),
    ),
    Rule(
        "unix-command",
        "LIN-11",
        Level.WARNING,
        "the command or an argument is a Unix shell or path",
        "Windows images have no /bin/sh; their paths look like C:\\app.",
        "write the program of the image, for example [powershell.exe, -Command, ...]",
        WINDOWS_PAGE,
        r"{containers: [{command: [cmd.exe, /c, C:\app\run.cmd]}]}",
        "{containers: [{command: [/bin/sh, -c, ./run]}]}",
        condition=in_containers(
            exists("command", one_of("", ["sh", "bash", "ash"]) | matches("", _UNIX_PATH))
            | exists("args", matches("", _UNIX_PATH))
        ),
    ),
    Rule(
        "os-field-missing",
        "LIN-12",
        Level.NOTE,
        "the pod selects Windows and does not set os.name",
        "With it the API server itself refuses fields that Windows does not have.",
        "add os: {name: windows}",
        VALIDATION,
        "{os: {name: windows}}",
        "{os: null}",
        condition=~equals("os.name", "windows"),
        judge="it is advice",
    ),
)
