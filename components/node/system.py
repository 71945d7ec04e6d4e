"""Linux settings: host name, kernel, time, packages."""

from components import releases
from components.node import egress
from components.node.kinds import Step, ref, step
from components.node.plan import Phase, Scope
from components.node.role import Role

MODULES = ("overlay", "br_netfilter")

SYSCTLS = {
    # CP-03: bridged pod traffic passes iptables, and the node forwards it
    "net.bridge.bridge-nf-call-iptables": "1",
    "net.bridge.bridge-nf-call-ip6tables": "1",
    "net.ipv4.ip_forward": "1",
    # pods use up the distributions' default of 128; containerd then starts without CRI ("too many open files")
    "fs.inotify.max_user_instances": "8192",
    "fs.inotify.max_user_watches": "524288",
}
"""Kernel settings by name."""


_APT = "apt-get --quiet --option DPkg::Lock::Timeout=300"
"""Waits for another program's lock on packages, as cloud images update themselves at their first boot. The install
decides: an archive that is gone, such as Debian's backports, fails the update but not the packages of the others."""

NEEDRESTART = """\
# Not restarted after an update of a library: that would interrupt pods, or an upgrade of the control plane.
$nrconf{override_rc}->{qr(^(containerd|docker|cri-docker|kubelet|mullion)[^/]*\\.service$)} = 0;
"""
"""Settings of needrestart, which restarts services on Ubuntu once an update replaced a library that they use."""


def identity() -> Phase:
    """Return the phase that sets the host name."""
    return Phase("identity", Scope.NODE, (step("hostname", "hostname", value=ref("machine.name")),))


def linux(role: Role) -> Phase:
    """Return the phase with cgroups, kernel modules and settings, swap off, time source, and missing packages."""
    modules = (step("module", f"module-{each}", module=each) for each in MODULES)
    sysctls = (step("sysctl", key, key=key, value=value) for key, value in SYSCTLS.items())
    server = role.spec.cloud.facts.time_server
    time = [step("time-source", "time-source", server=server)] if server else []
    trusted = egress.authorities(role)
    needrestart = step("file", "needrestart", path="/etc/needrestart/conf.d/mullion.conf", content=NEEDRESTART)
    steps = (*_cgroups(role), needrestart, *modules, *sysctls, step("swap", "swap"), *time, *trusted, *_packages(role))
    return Phase("system", Scope.IMAGE, steps)


def _cgroups(role: Role) -> tuple[Step, ...]:
    """Return a probe for cgroups v2 if the kubelet requires it; empty if its config has failCgroupV1: false."""
    has_field = "failCgroupV1" in releases.fields("kubelet", role.spec.kubernetes)
    if not has_field or role.kubelet.config.get("failCgroupV1") is False:
        return ()
    message = "the machine has no control groups v2 (boot it with systemd.unified_cgroup_hierarchy=1)"
    argv = ["/usr/bin/stat", "--file-system", "--format=%T", "/sys/fs/cgroup"]
    return (step("probe", "cgroups", argv=argv, expect="cgroup2fs", message=message),)


def _packages(role: Role) -> tuple[Step, ...]:
    """Return the steps that install programs missing in the image from the distribution's signed archive."""
    packages = releases.linux(role.os).packages
    return tuple(
        step(
            "command",
            f"package-{package}",
            argv=["/bin/sh", "-c", f"{_APT} update; {_APT} install --yes {package}"],
            environment={"DEBIAN_FRONTEND": "noninteractive", **egress.packages(role)},
            creates=program,
        )
        for program, package in packages.items()
    )
