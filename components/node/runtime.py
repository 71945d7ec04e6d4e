"""Configuration and services of the container runtimes: containerd 1.x and 2.x, Docker by dockershim or cri-dockerd."""

from typing import Any

from components import releases
from components.node import egress, images, mirrors, registries
from components.node.kinds import Step, step
from components.node.layout import (
    DOCKER,
    LAYOUTS,
    WINDOWS,
    WINDOWS_CONTAINERD_DATA,
    WINDOWS_NODE_CERTIFICATE,
    Layout,
)
from components.node.merge import merge
from components.node.plan import Phase, Scope
from components.node.role import Role
from components.node.toml import toml
from components.spec.models import Runtime

WINDOWS_HANDLERS: dict[Runtime, str] = {
    Runtime.CONTAINERD: "runhcs-wcow-process",
    # the only handler of dockershim and cri-dockerd
    Runtime.DOCKER: "docker",
}
"""Handler of process-isolated Windows containers, also in RuntimeClasses (RUN-06, SCH-05)."""

_CONTAINERD_HANDLER = WINDOWS_HANDLERS[Runtime.CONTAINERD]

HYPERV_HANDLER = "runhcs-wcow-hypervisor"
"""Handler of Hyper-V isolated containers: containerd's own name for it (from 1.7 on, config_windows.go)."""

_HYPERV: dict[str, Any] = {
    "runtime_type": "io.containerd.runhcs.v1",
    "pod_annotations": ["io.microsoft.virtualmachine.*"],
    "container_annotations": ["io.microsoft.container.*"],
    # containerd's defaults, written out because this table replaces them: HYPERVISOR (1), and limits of CPUs that count
    # the virtual machine's processors instead of the node's
    "options": {"SandboxIsolation": 1, "ScaleCpuLimitsToSandbox": True, "ScrubLogs": True},
}
"""A virtual machine for each pod. containerd has one pause image for all handlers, of the node's build, and the virtual
machine boots from it, so a handler for another build would change nothing (docs/hyper-v.md)."""

_RUNTIMES: dict[str, dict[str, Any]] = {
    "linux": {
        "default_runtime_name": "runc",
        # systemd: kubeadm's default for the kubelet, which must agree
        "runtimes": {"runc": {"runtime_type": "io.containerd.runc.v2", "options": {"SystemdCgroup": True}}},
    },
    "windows": {
        "default_runtime_name": _CONTAINERD_HANDLER,
        "runtimes": {
            _CONTAINERD_HANDLER: {
                "runtime_type": "io.containerd.runhcs.v1",
                "container_annotations": ["io.microsoft.container.*"],
                # removes environment variables, which may be secrets, from the logs: the default from 1.7.35, 2.0.12,
                # 2.2.7 and 2.3.4 on (containerd/containerd#13837), which this table may replace; 1.6 has no such option
                # and ignores it
                "options": {"ScrubLogs": True},
            }
        },
    },
}

_LIMITS = {"LimitNOFILE": "1048576", "LimitNPROC": "infinity", "OOMScoreAdjust": "-999", "TasksMax": "infinity"}
"""Limits of containerd on Linux: it starts every pod's processes, and the kernel kills it last if memory runs out."""

_PULL_DEADLINE = "20m"
"""Time without progress after which a pull is cancelled: with Windows images minutes; the default is 1 (RUN-03)."""

DAEMON: dict[str, Any] = {
    # without it Docker creates a NAT network in HNS beside the pod network (NET-02)
    "bridge": "none",
    "data-root": DOCKER.data,
    "log-driver": "json-file",
    "log-opts": {"max-file": "5", "max-size": "50m"},
}
"""Content of Docker's daemon.json."""


_UNSCANNED = {
    Runtime.CONTAINERD: (WINDOWS.containerd_programs, ("containerd", "ctr", "containerd-shim-runhcs-v1")),
    Runtime.DOCKER: (DOCKER.programs, ("dockerd", "docker")),
}


def unscanned(role: Role) -> tuple[str, tuple[str, ...]]:
    """Return a folder and the programs in it that Defender excludes on Windows."""
    return _UNSCANNED[role.runtime]


def data_folder(role: Role) -> str:
    """Return the folder of images on Windows; a step creates it first, because the runtime keeps a folder's rights."""
    return DOCKER.data if role.runtime is Runtime.DOCKER else WINDOWS_CONTAINERD_DATA


def uses_dockershim(role: Role) -> bool:
    """Return whether the kubelet uses Docker through its own dockershim."""
    return role.runtime is Runtime.DOCKER and role.release.dockershim


def endpoint(role: Role) -> str:
    """Return the machine's CRI socket."""
    if role.runtime is Runtime.DOCKER:
        return DOCKER.dockershim_socket if role.release.dockershim else DOCKER.cri_socket
    return LAYOUTS[role.system].containerd_socket


def services(role: Role) -> tuple[str, ...]:
    """Return the runtime's services in start order; the kubelet depends on the last."""
    if role.runtime is Runtime.CONTAINERD:
        return ("containerd",)
    return ("docker",) if role.release.dockershim else ("docker", "cri-dockerd")


def configuration(role: Role) -> dict[str, Any]:
    """Return containerd's config.toml as nested tables, with the user's tables merged over it."""
    containerd, layout = role.containerd_release, LAYOUTS[role.system]
    pause = images.stored(role, releases.pause_image(role.spec.kubernetes, role.os))
    folder = layout.cni_programs
    cni = {
        containerd.cni_directories: folder if containerd.cni_directories == "bin_dir" else [folder],
        "conf_dir": layout.cni_config,
    }
    runtime = {"containerd": _handlers(role), "cni": cni}
    hosts = {"registry": {"config_path": mirrors.folder(role)}} if role.containerd.mirrors else {}
    split = {
        "io.containerd.cri.v1.images": {"pinned_images": {"sandbox": pause}, **hosts},
        "io.containerd.cri.v1.runtime": runtime,
    }
    whole = {"io.containerd.grpc.v1.cri": {"sandbox_image": pause, **runtime, **hosts}}
    version = containerd.config_version
    return merge({"version": version, "plugins": {2: whole, 3: split, 4: split}[version]}, role.containerd.config)


def _handlers(role: Role) -> dict[str, Any]:
    """Return the handlers of the machine's runtime, by their names in RuntimeClasses, and the default one."""
    table = _RUNTIMES[role.system]
    return {**table, "runtimes": {**table["runtimes"], HYPERV_HANDLER: _HYPERV}} if role.hyperv else table


def phase(role: Role) -> Phase:
    """Return the phase with the runtime's configuration and services, and crictl's endpoint."""
    layout = LAYOUTS[role.system]
    if role.runtime is Runtime.DOCKER:
        steps = (*_docker(role), *_cri_dockerd(role), _crictl(role), *registries.steps(role), *_images(role))
        return Phase("runtime", Scope.IMAGE, steps)
    config = step("file", "containerd-config", path=layout.containerd_config, content=toml(configuration(role)))
    steps = (*_windows(role, layout), _crictl(role), *_images(role)) if role.os.is_windows else _linux(role, layout)
    return Phase("runtime", Scope.IMAGE, (config, *mirrors.steps(role), *registries.steps(role), *steps))


def dockershim_flags() -> tuple[str, ...]:
    """Return the flags for dockershim of a kubelet up to 1.23 (SRV-09)."""
    return (*_cni_flags(), f"--image-pull-progress-deadline={_PULL_DEADLINE}")


def cri_dockerd_command(role: Role) -> list[str]:
    """Return the command line of cri-dockerd."""
    return [
        WINDOWS.program("cri-dockerd"),
        f"--container-runtime-endpoint={DOCKER.cri_socket}",
        f"--docker-endpoint={DOCKER.socket}",
        *_cni_flags(),
        f"--image-pull-progress-deadline={_PULL_DEADLINE}",
        f"--pod-infra-container-image={images.pause(role)}",
    ]


def _cni_flags() -> tuple[str, ...]:
    folders = (f"--cni-bin-dir={WINDOWS.cni_programs}", f"--cni-conf-dir={WINDOWS.cni_config}")
    return ("--network-plugin=cni", *folders)


def _docker(role: Role) -> tuple[Step, ...]:
    command = [WINDOWS.program("dockerd", DOCKER.programs), "--run-service", "--config-file", DOCKER.config]
    return (
        step("directory", "docker-config-folder", path=DOCKER.config.rpartition("\\")[0], access="private"),
        step("file", "docker-config", path=DOCKER.config, format="json", content=DAEMON),
        step(
            "service",
            "docker",
            service="docker",
            command=command,
            restarts_on=[DOCKER.config],
            restart_seconds=10,
            **egress.variables(role),
        ),
    )


def _cri_dockerd(role: Role) -> tuple[Step, ...]:
    if role.release.dockershim:
        return ()
    return (
        step("directory", "cri-dockerd-logs", path=WINDOWS.path(WINDOWS.logs, "cri-dockerd"), access="private"),
        step(
            "service",
            "cri-dockerd",
            service="cri-dockerd",
            command=cri_dockerd_command(role),
            wrapper=WINDOWS.program("nssm"),
            depends=["docker"],
            log=WINDOWS.path(WINDOWS.logs, "cri-dockerd", "cri-dockerd.log"),
            restart_seconds=10,
        ),
    )


def _crictl(role: Role) -> Step:
    return step("environment", "crictl", variable="CONTAINER_RUNTIME_ENDPOINT", value=endpoint(role))


_PULL_SECONDS = 1800
"""Longest pull of one image of the pool, seconds: base images of Windows have gigabytes, and a roll waits no longer."""


def _images(role: Role) -> tuple[Step, ...]:
    """Return the steps that pull the pause image and the pool's images, and check their Windows build (RUN-09).

    With a pause image of another build all pods would hang in ContainerCreating.
    """
    docker = role.runtime is Runtime.DOCKER
    client, folder = ("docker", DOCKER.programs) if docker else ("crictl", WINDOWS.programs)
    own: dict[str, Any] = {"client": client, "program": WINDOWS.program(client, folder)}
    # a runtime takes some seconds after its start until it answers
    pause = step("container-image", "pause-image", image=images.pause(role), **own, retries=6)
    pools, joined = (images.pinned(role, image) for image in role.pre_pull), WINDOWS_NODE_CERTIFICATE
    return (
        pause,
        *(
            step("container-image", f"image-{number}", image=image, until=joined, **own, timeout_seconds=_PULL_SECONDS)
            for number, image in enumerate(pools, start=1)
        ),
    )


def _windows(role: Role, layout: Layout) -> tuple[Step, ...]:
    program, config = layout.program("containerd", layout.containerd_programs), layout.containerd_config
    log = layout.path(layout.logs, "containerd", "containerd.log")
    # without --log-file a service's output is lost (containerd docs/getting-started.md)
    command = [program, "--run-service", "--config", config, "--log-file", log]
    return (
        step("directory", "containerd-logs", path=layout.path(layout.logs, "containerd"), access="private"),
        step(
            "service",
            "containerd",
            service="containerd",
            command=command,
            restarts_on=[config],
            restart_seconds=10,
            **egress.variables(role),
        ),
    )


def _linux(role: Role, layout: Layout) -> tuple[Step, ...]:
    program, config = layout.program("containerd"), layout.containerd_config
    command = [program, "--config", config]
    crictl = {"runtime-endpoint": layout.containerd_socket, "image-endpoint": layout.containerd_socket}
    return (
        # delegate: pods' processes must outlive a restart of containerd
        step(
            "service",
            "containerd",
            service="containerd",
            command=command,
            delegate=True,
            limits=_LIMITS,
            restarts_on=[program, config, *egress.trust_files(role)],
            restart_seconds=5,
            **egress.variables(role),
        ),
        step("file", "crictl", path="/etc/crictl.yaml", format="json", content=crictl),
    )
