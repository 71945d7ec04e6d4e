"""containerd: config.toml for 1.x and 2.x, and its service."""

from typing import Any

from components import releases
from components.merge import merge
from components.node.kinds import Step, step
from components.node.layout import LAYOUTS, Layout
from components.node.plan import Phase, Scope
from components.node.role import Role
from components.node.toml import toml

WINDOWS_HANDLER = "runhcs-wcow-process"
"""Runtime handler of process-isolated Windows containers, also that of RuntimeClasses (RUN-06, SCH-05)."""

_RUNTIMES: dict[str, dict[str, Any]] = {
    "linux": {
        "default_runtime_name": "runc",
        # systemd: kubeadm's default for the kubelet, which must agree
        "runtimes": {"runc": {"runtime_type": "io.containerd.runc.v2", "options": {"SystemdCgroup": True}}},
    },
    "windows": {
        "default_runtime_name": WINDOWS_HANDLER,
        "runtimes": {
            WINDOWS_HANDLER: {
                "runtime_type": "io.containerd.runhcs.v1",
                "container_annotations": ["io.microsoft.container.*"],
            }
        },
    },
}


def configuration(role: Role) -> dict[str, Any]:
    """config.toml as nested tables, the user's merged last."""
    containerd, layout = role.release.containerd, LAYOUTS[role.system]
    pause = releases.pause_image(role.spec.kubernetes, role.os)
    one = layout.cni_programs
    cni = {
        containerd.cni_directories: one if containerd.cni_directories == "bin_dir" else [one],
        "conf_dir": layout.cni_config,
    }
    runtime = {"containerd": _RUNTIMES[role.system], "cni": cni}
    plugins: dict[int, dict[str, Any]] = {
        2: {"io.containerd.grpc.v1.cri": {"sandbox_image": pause, **runtime}},
        3: {
            "io.containerd.cri.v1.images": {"pinned_images": {"sandbox": pause}},
            "io.containerd.cri.v1.runtime": runtime,
        },
    }
    version = containerd.config_version
    return merge({"version": version, "plugins": plugins[version]}, role.containerd.config)


def phase(role: Role) -> Phase:
    """Config, service, and crictl pointed at it."""
    layout = LAYOUTS[role.system]
    config = step("file", "containerd-config", path=layout.containerd_config, content=toml(configuration(role)))
    return Phase("runtime", Scope.IMAGE, (config, *(_windows(layout) if role.os.is_windows else _linux(layout))))


def _windows(layout: Layout) -> tuple[Step, ...]:
    program, config = layout.program("containerd", layout.containerd_programs), layout.containerd_config
    log = layout.path(layout.logs, "containerd", "containerd.log")
    # without --log-file a service's output is lost (containerd docs/getting-started.md)
    command = [program, "--run-service", "--config", config, "--log-file", log]
    return (
        step("directory", "containerd-logs", path=layout.path(layout.logs, "containerd")),
        step("service", "containerd", service="containerd", command=command, restart_seconds=10),
        step("environment", "crictl", variable="CONTAINER_RUNTIME_ENDPOINT", value=layout.containerd_socket),
    )


def _linux(layout: Layout) -> tuple[Step, ...]:
    program, config = layout.program("containerd"), layout.containerd_config
    command = [program, "--config", config]
    crictl = {"runtime-endpoint": layout.containerd_socket, "image-endpoint": layout.containerd_socket}
    return (
        # delegate: pods' processes must outlive a restart of containerd
        step("service", "containerd", service="containerd", command=command, delegate=True, restart_seconds=5),
        step("file", "crictl", path="/etc/crictl.yaml", format="json", content=crictl),
    )
