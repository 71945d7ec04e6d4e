"""Rules about images, memory, termination, ports and names in containers."""

from collections.abc import Callable

from components import releases
from components.lint.conditions import Condition, any_of, equals, exists, has, matches, same
from components.lint.rule import MEMORY_PAGE, NETWORK_PAGE, WINDOWS_PAGE, Context, Level, Rule
from components.lint.targets import (
    HOST_PROCESS,
    OTHER_TAGS,
    SELECTS_ANY_RELEASE,
    WINDOWS_IMAGE,
    in_containers,
    of_release,
    selects_release,
)
from components.spec.choices import NetworkMode, Runtime

COMPATIBILITY = "https://learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility"
RUNS_ALSO = {"windows-2025": "windows-2022"}
"""Host -> older release whose images it also runs (Microsoft's page of version compatibility)."""


def _foreign(release: releases.WindowsRelease) -> Condition:
    """Return a condition about a container: its image is of a build that cannot run on a release.

    If the tag also names a release that runs there, that name counts: 1903-ltsc2022 is version 1903 of a program.
    """
    runs = {release.os, RUNS_ALSO.get(release.os, release.os)}
    tags = [of_release(os) for os in releases.WINDOWS if os not in runs]
    fits = any_of([of_release(os) for os in releases.WINDOWS if os in runs])
    return matches("image", WINDOWS_IMAGE) & ~fits & any_of([*tags, matches("image", OTHER_TAGS)])


def _build(context: Context) -> Condition:
    named = [selects_release(each) & in_containers(_foreign(each)) for each in releases.WINDOWS.values()]
    if len(context.windows) == 1:
        named.append(~SELECTS_ANY_RELEASE & in_containers(_foreign(context.windows[0])))
    return ~HOST_PROCESS & any_of(named)


def _with_docker(condition: Condition) -> Callable[[Context], Condition | None]:
    """Return a function of the cluster: the condition where a Windows pool runs Docker."""
    return lambda context: condition if Runtime.DOCKER in context.runtimes else None


def _host_port(context: Context) -> Condition | None:
    ports = ~HOST_PROCESS & in_containers(exists("ports", has("hostPort")))
    return ports if context.network is NetworkMode.OVERLAY else None


_NO_TAG = matches("image", r"^[^:@]*(:[0-9]+/[^:@]*)?$") | matches("image", ":latest$")
_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_HALF_NAME = rf"^([a-z]+://)?({_NAME}\.{_NAME}\.svc|kubernetes\.default)(:[0-9]+)?(/.*)?$"
_LIMITED = has("resources.limits.memory")
_DEFAULT_LOG = "^/dev/termination-log$"

RULES = (
    Rule(
        "image-build",
        "OS-07",
        Level.ERROR,
        "the tag of the image names another Windows build than the nodes that the pod selects",
        "With process isolation an image runs on hosts of its own build; Windows Server 2025 also runs ltsc2022.",
        "use the tag of the nodes' release, or select the nodes of the image's build",
        COMPATIBILITY,
        "{nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}, "
        "containers: [{image: mcr.microsoft.com/windows/servercore:ltsc2022}]}",
        "{nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}, "
        "containers: [{image: mcr.microsoft.com/windows/servercore:ltsc2019}]}",
        condition=_build,
    ),
    Rule(
        "image-without-tag",
        "OS-07",
        Level.WARNING,
        "the image has no tag, or the tag latest",
        "Nothing says which Windows build it is for, and nodes may run different images.",
        "name a tag, for example ltsc2022, or a digest",
        COMPATIBILITY,
        "{containers: [{image: registry.example.com:5000/app:2.1-ltsc2022}]}",
        "{containers: [{image: registry.example.com:5000/app}]}",
        condition=in_containers(_NO_TAG),
    ),
    Rule(
        "memory-limit",
        "RES-08",
        Level.WARNING,
        "a container has no memory limit",
        "Windows has no OOM killer: it pages, and the whole node becomes slow.",
        "set resources.limits.memory; requests then default to it",
        MEMORY_PAGE,
        "{containers: [{resources: {limits: {memory: 1Gi}}}]}",
        "{containers: [{resources: null}]}",
        condition=in_containers(~_LIMITED),
    ),
    Rule(
        "cpu-request",
        "RES-08",
        Level.NOTE,
        "a container has neither a limit nor a request of CPU",
        "The scheduler then places pods on the node without counting their CPU.",
        "set resources.limits.cpu, or resources.requests.cpu",
        MEMORY_PAGE,
        "{containers: [{resources: {limits: {cpu: 1, memory: 1Gi}}}]}",
        "{containers: [{resources: {limits: {cpu: null, memory: 1Gi}}}]}",
        condition=in_containers(~has("resources.limits.cpu") & ~has("resources.requests.cpu")),
        judge="it is advice",
    ),
    Rule(
        "memory-request",
        "RES-08",
        Level.NOTE,
        "a container requests less memory than its limit, or sets a request alone",
        "A request reserves no memory on Windows: on an overcommitted node it guarantees nothing.",
        "remove the request, so that it equals the limit",
        MEMORY_PAGE,
        "{containers: [{resources: {limits: {cpu: 1, memory: 1Gi}, requests: {memory: 1Gi}}}]}",
        "{containers: [{resources: {limits: {cpu: 1, memory: 1Gi}, requests: {memory: 512Mi}}}]}",
        condition=in_containers(
            has("resources.requests.memory") & ~same("resources.requests.memory", "resources.limits.memory")
        ),
        judge="it is advice",
    ),
    Rule(
        "host-port-on-overlay",
        "NET-09",
        Level.ERROR,
        "hostPort does nothing on Windows nodes with an overlay network",
        "The plug-in win-overlay maps no ports of the node.",
        "use a Service of type NodePort",
        "https://github.com/containernetworking/plugins/tree/v1.9.1/plugins/main/windows/win-overlay",
        "{containers: [{ports: [{containerPort: 80}]}]}",
        "{containers: [{ports: [{containerPort: 80, hostPort: 80}]}]}",
        condition=_host_port,
        cluster="{network: {mode: overlay}, pools: {web: {os: windows-2022}}}",
    ),
    Rule(
        "grace-period-with-docker",
        "LIN-09",
        Level.WARNING,
        "Docker on Windows does not honour terminationGracePeriodSeconds",
        "It sends CTRL_SHUTDOWN_EVENT, and ends the processes 5 s later (WaitToKillServiceTimeout in the image).",
        "use containerd, or raise the value in the image's registry",
        WINDOWS_PAGE,
        "{terminationGracePeriodSeconds: 30}",
        "{terminationGracePeriodSeconds: 120}",
        condition=_with_docker(has("terminationGracePeriodSeconds") & ~equals("terminationGracePeriodSeconds", 30)),
        cluster="{pools: {web: {os: windows-2022, runtime: docker}}}",
    ),
    Rule(
        "termination-message-with-docker",
        "LIN-10",
        Level.WARNING,
        "Docker on Windows cannot mount the file terminationMessagePath",
        "It mounts folders only.",
        "remove terminationMessagePath, or use containerd",
        WINDOWS_PAGE,
        "{containers: [{terminationMessagePath: /dev/termination-log}]}",
        r"{containers: [{terminationMessagePath: 'C:\end.txt'}]}",
        condition=_with_docker(
            in_containers(matches("terminationMessagePath", ".") & ~matches("terminationMessagePath", _DEFAULT_LOG))
        ),
        cluster="{pools: {web: {os: windows-2022, runtime: docker}}}",
    ),
    Rule(
        "half-qualified-name",
        "SVC-10",
        Level.WARNING,
        "an environment value is a half-qualified name of a Service",
        "Windows pods have one DNS suffix. A name with a dot counts as a full name: NAME.NAMESPACE.svc is not found.",
        "write the full name, for example web.team.svc.cluster.local, or only the Service's name",
        NETWORK_PAGE,
        "{containers: [{env: [{name: API, value: 'http://web.team.svc.cluster.local:80/'}]}]}",
        "{containers: [{env: [{name: API, value: 'http://web.team.svc:80/'}]}]}",
        condition=in_containers(exists("env", matches("value", _HALF_NAME))),
    ),
)
