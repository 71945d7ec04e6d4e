"""Rules about security contexts and the host's namespaces."""

from components import releases
from components.lint.conditions import Condition, any_of, equals, exists, has, key_matches, matches, one_of
from components.lint.rule import NETWORK_PAGE, VALIDATION, WINDOWS_PAGE, Context, Level, Rule
from components.lint.targets import HOST_PROCESS, in_containers
from components.spec.choices import Runtime

HOST_PROCESS_PAGE = "https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/"
GMSA_PAGE = "https://kubernetes.io/docs/tasks/configure-pod-container/configure-gmsa/"
USER_PAGE = "https://kubernetes.io/docs/tasks/configure-pod-container/configure-runasusername/"

OF_CONTAINERS = ("appArmorProfile", "capabilities", "procMount", "seLinuxOptions", "seccompProfile")
OF_PODS = (
    *("appArmorProfile", "fsGroup", "fsGroupChangePolicy", "seLinuxChangePolicy", "seLinuxOptions", "seccompProfile"),
    *("supplementalGroups", "supplementalGroupsPolicy", "sysctls"),
)
"""Fields of securityContext that only Linux has. The API server refuses them with os.name: windows (validateWindows in
pkg/apis/core/validation/validation.go of 1.37.1)."""
IDS = ("runAsUser", "runAsGroup")
_NAMED = equals("os.name", "windows")
_REFUSED = any_of(
    [
        *(has(f"securityContext.{name}") for name in (*OF_PODS, *IDS)),
        *(equals(name, True) for name in ("hostPID", "hostIPC")),
        *(has(name) for name in ("hostUsers", "shareProcessNamespace")),
        in_containers(
            any_of(
                [
                    has(f"securityContext.{name}")
                    for name in (*OF_CONTAINERS, *IDS, "allowPrivilegeEscalation", "privileged")
                ]
                + [has("securityContext.readOnlyRootFilesystem")]
            )
        ),
    ]
)
_USER = r'^(([^\\/:*?"<>|\x00-\x1f]{1,255}\\)?[^"/\\:;|=,+*?<>@\[\]\x00-\x1f]{1,104})$'
"""DOMAIN\\USER or USER (validateWindowsSecurityContextOptions in the same file)."""
_NAME = "securityContext.windowsOptions.runAsUserName"
_BAD_NAME = has(_NAME) & (~matches(_NAME, _USER) | matches(_NAME, r"^([^\\]*\\)?[. ]+$"))
_MIXED = equals("securityContext.windowsOptions.hostProcess", True)


def _os_refuses(context: Context) -> Condition | None:
    """Return the condition; None before 1.24, whose API server does not know the field os."""
    return None if releases.older(context.minor, "1.24") else _NAMED & _REFUSED


def _host_process(context: Context) -> Condition | None:
    """Return the condition where HostProcess pods do not run: before 1.23 (alpha in 1.22), and with Docker alone."""
    old = releases.older(context.minor, "1.23")
    return HOST_PROCESS if old or Runtime.CONTAINERD not in context.runtimes else None


def _gmsa(context: Context) -> Condition | None:
    """Return the condition; None for clusters whose stack has no credential specs, and without a stack."""
    specs = context.spec.gmsa.credential_specs if context.spec else {}
    if not specs:
        return None
    name, contents = (f"securityContext.windowsOptions.gmsaCredentialSpec{end}" for end in ("Name", ""))
    wrong = (has(name) | has(contents)) & ~one_of(name, sorted(specs))
    if not releases.release(context.minor).mutating_policies:
        wrong |= has(name) & ~has(contents)
    return wrong | in_containers(wrong)


RULES = (
    Rule(
        "privileged",
        "LIN-01",
        Level.ERROR,
        "Windows has no privileged containers",
        "The container does not start.",
        "remove privileged; for rights on the host use a HostProcess pod (Kubernetes 1.23 or newer, containerd)",
        WINDOWS_PAGE,
        "{containers: [{securityContext: {privileged: false}}]}",
        "{containers: [{securityContext: {privileged: true}}]}",
        condition=in_containers(equals("securityContext.privileged", True)),
    ),
    Rule(
        "linux-only-field",
        "LIN-02",
        Level.WARNING,
        "a field of the container's securityContext has no effect on Windows",
        "Capabilities, seccomp, AppArmor, SELinux, procMount and allowPrivilegeEscalation are features of Linux.",
        "remove it",
        WINDOWS_PAGE,
        r"{containers: [{securityContext: {windowsOptions: {runAsUserName: ContainerUser}}}]}",
        "{containers: [{securityContext: {capabilities: {drop: [ALL]}}}]}",
        condition=~_NAMED
        & in_containers(
            any_of([has(f"securityContext.{name}") for name in OF_CONTAINERS])
            | equals("securityContext.allowPrivilegeEscalation", True)
            | equals("securityContext.allowPrivilegeEscalation", False)
        ),
    ),
    Rule(
        "linux-only-pod-field",
        "LIN-05",
        Level.WARNING,
        "a field of the pod's securityContext has no effect on Windows",
        "fsGroup, supplementalGroups, sysctls, seccomp, AppArmor and SELinux are features of Linux.",
        "remove it",
        WINDOWS_PAGE,
        "{securityContext: {runAsNonRoot: true}}",
        "{securityContext: {fsGroup: 2000}}",
        condition=~_NAMED & any_of([has(f"securityContext.{name}") for name in OF_PODS]),
    ),
    Rule(
        "run-as-user",
        "LIN-04 LIN-05",
        Level.WARNING,
        "Windows has no numeric ids of users and groups",
        "runAsUser and runAsGroup have no effect. runAsNonRoot works: it keeps out ContainerAdministrator.",
        "write securityContext.windowsOptions.runAsUserName, for example ContainerUser",
        USER_PAGE,
        "{containers: [{securityContext: {runAsNonRoot: true, windowsOptions: {runAsUserName: ContainerUser}}}]}",
        "{containers: [{securityContext: {runAsUser: 1000}}]}",
        condition=~_NAMED
        & (
            any_of([has(f"securityContext.{name}") for name in IDS])
            | in_containers(any_of([has(f"securityContext.{name}") for name in IDS]))
        ),
    ),
    Rule(
        "os-refuses-field",
        "LIN-12",
        Level.ERROR,
        "the API server refuses the field in a pod with os.name: windows",
        "Windows does not have what the field sets.",
        "remove the field",
        VALIDATION,
        "{os: {name: windows}, securityContext: {runAsNonRoot: true}}",
        "{os: {name: windows}, securityContext: {fsGroup: 2000}}",
        condition=_os_refuses,
        judge="api",
    ),
    Rule(
        "read-only-root",
        "LIN-03",
        Level.WARNING,
        "Windows has no read-only root file system",
        "The kubelet does not pass the field on: the container runs, and can write. Read-only volumes work.",
        "remove readOnlyRootFilesystem; mount volumes with readOnly: true",
        "https://kubernetes.io/docs/concepts/storage/windows-storage/",
        "{containers: [{securityContext: {readOnlyRootFilesystem: false}}]}",
        "{containers: [{securityContext: {readOnlyRootFilesystem: true}}]}",
        condition=in_containers(equals("securityContext.readOnlyRootFilesystem", True)),
    ),
    Rule(
        "huge-pages",
        "LIN-06",
        Level.ERROR,
        "Windows nodes have no huge pages",
        "No node offers the resource, so the pod stays Pending; the kubelet cannot mount an emptyDir of them.",
        "remove the resource, and the medium of the emptyDir",
        WINDOWS_PAGE,
        "{containers: [{resources: {limits: {memory: 1Gi}}}]}",
        "{containers: [{resources: {limits: {memory: 1Gi, hugepages-2Mi: 64Mi}}}]}",
        condition=in_containers(
            key_matches("resources.limits", "^hugepages-") | key_matches("resources.requests", "^hugepages-")
        )
        | exists("volumes", matches("emptyDir.medium", "^HugePages")),
    ),
    Rule(
        "host-namespaces",
        "LIN-07",
        Level.ERROR,
        "Windows pods cannot share the host's network or processes, or their own processes",
        "Only HostProcess pods have hostNetwork; hostPID, hostIPC and shareProcessNamespace do not exist.",
        "remove the field; for rights on the host use a HostProcess pod",
        WINDOWS_PAGE,
        "{hostNetwork: true, securityContext: {windowsOptions: {hostProcess: true, "
        "runAsUserName: 'NT AUTHORITY\\SYSTEM'}}}",
        "{hostNetwork: true}",
        condition=any_of([equals(name, True) for name in ("hostIPC", "hostPID", "shareProcessNamespace")])
        | (~HOST_PROCESS & equals("hostNetwork", True)),
    ),
    Rule(
        "dns-with-host-network",
        "LIN-08",
        Level.ERROR,
        "dnsPolicy ClusterFirstWithHostNet does not work on Windows",
        "Windows pods have no host network. HostProcess pods use the DNS servers of the host in any case.",
        "remove dnsPolicy",
        NETWORK_PAGE,
        "{dnsPolicy: ClusterFirst}",
        "{dnsPolicy: ClusterFirstWithHostNet}",
        condition=~HOST_PROCESS & equals("dnsPolicy", "ClusterFirstWithHostNet"),
    ),
    Rule(
        "dns-policy",
        "LIN-08",
        Level.NOTE,
        "the pod uses another dnsPolicy than ClusterFirst",
        "The design of Windows nodes considered only ClusterFirst; None and Default are less tested.",
        "remove dnsPolicy, unless the pod must not use the cluster's DNS",
        "https://github.com/kubernetes/enhancements/tree/master/keps/sig-windows/116-windows-node-support",
        "{dnsPolicy: ClusterFirst}",
        "{dnsPolicy: Default}",
        condition=one_of("dnsPolicy", ["Default", "None"]),
        judge="it is advice",
    ),
    Rule(
        "user-name",
        "SEC-05",
        Level.ERROR,
        "runAsUserName is not a valid name of a Windows user",
        "It is USER or DOMAIN\\USER with at most one backslash, a user of 1 to 104 characters and none of "
        '"/\\:;|=,+*?<>@[].',
        "write ContainerUser, ContainerAdministrator, or DOMAIN\\USER",
        USER_PAGE,
        "{securityContext: {windowsOptions: {runAsUserName: ContainerUser}}}",
        "{securityContext: {windowsOptions: {runAsUserName: 'user@example.com'}}}",
        condition=_BAD_NAME | in_containers(_BAD_NAME),
        judge="api",
    ),
    Rule(
        "host-process-network",
        "LIN-07",
        Level.ERROR,
        "a HostProcess pod must have hostNetwork: true, and all its containers must be HostProcess containers",
        "HostProcess containers share the host's network; a pod cannot mix them with others.",
        "set hostNetwork, and windowsOptions.hostProcess in the pod's securityContext only",
        HOST_PROCESS_PAGE,
        "{hostNetwork: true, securityContext: {windowsOptions: {hostProcess: true, "
        "runAsUserName: 'NT AUTHORITY\\SYSTEM'}}}",
        "{securityContext: {windowsOptions: {hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM'}}}",
        condition=(HOST_PROCESS & ~equals("hostNetwork", True))
        | (in_containers(_MIXED) & ~_MIXED & in_containers(~_MIXED))
        | (_MIXED & in_containers(equals("securityContext.windowsOptions.hostProcess", False))),
        judge="api",
    ),
    Rule(
        "host-process-unavailable",
        "LIN-01",
        Level.ERROR,
        "HostProcess pods need Kubernetes 1.23 or newer and containerd",
        "The version or the runtime of the Windows pools cannot run them.",
        "upgrade Kubernetes, or use containerd",
        HOST_PROCESS_PAGE,
        "{hostNetwork: false}",
        "{hostNetwork: true, securityContext: {windowsOptions: {hostProcess: true, "
        "runAsUserName: 'NT AUTHORITY\\SYSTEM'}}}",
        condition=_host_process,
        cluster="{pools: {web: {os: windows-2022, runtime: docker}}}",
    ),
    Rule(
        "gmsa",
        "SEC-03",
        Level.ERROR,
        "the cluster has no such credential spec, or the pod lacks its contents",
        "The API server refuses the pod: the stack's gmsa.credential_specs are the only ones, and before Kubernetes"
        " 1.36 nothing fills in gmsaCredentialSpec, which is all that the kubelet reads.",
        "name a credential spec of the stack; before 1.36 add its annotation mullion.dev/contents as"
        " gmsaCredentialSpec",
        GMSA_PAGE,
        "{securityContext: {windowsOptions: {gmsaCredentialSpecName: web}}}",
        "{securityContext: {windowsOptions: {gmsaCredentialSpecName: wen}}}",
        condition=_gmsa,
        judge="gmsa",
        cluster="{pools: {web: {os: windows-2022}}, gmsa: {credential_specs: {web: {contents: {}}}}}",
    ),
)
