"""From a pod of a Linux node: the metadata service, which gives the machine's rights away, and a stolen token."""

import re
import subprocess
from collections.abc import Callable
from typing import NoReturn

import pytest

from lab.linuxnode import image
from lab.linuxnode.image import lacking
from tests.components.node.test_audit import AGENT, level
from tools.golden.samples import content, plan

pytestmark = pytest.mark.subprocess
IPTABLES = "/usr/sbin/iptables"


def commands(unit: str) -> list[str]:
    """Return the command lines of a unit's ExecStart, as systemd splits them into words."""
    return re.findall(r"(?m)^ExecStart=-?(.+)$", unit)


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
@pytest.mark.parametrize("mode", ["overlay", "l2bridge"])
def test_a_flush_of_the_rules_does_not_open_metadata(
    cloud: str, mode: str, missing: Callable[[str, str], NoReturn]
) -> None:
    """Wait until another program flushes iptables, then read the machine's credentials.

    Refused by: mullion-closed-to-pods.service, which each start of the kubelet and a timer run again.
    Seen in: the machine: `iptables -t mangle -L -v` counts the packets that the rules dropped.
    """
    if why := lacking():
        missing("linuxnode", why)
    unit = content(plan("ubuntu-22.04", cloud=cloud, network={"mode": mode}), "closed-to-pods-unit")
    close = "\n".join(commands(unit))
    flush = "\n".join(f"{IPTABLES} -w -t {table} -F; {IPTABLES} -w -t {table} -X" for table in ("mangle", "nat"))
    show = "\n".join(f"{IPTABLES} -w -t {table} -S" for table in ("mangle", "nat"))
    script = "\n".join(
        [close, show, "echo SECOND", close, show, "echo FLUSHED", flush, show, "echo AGAIN", close, show]
    )
    # the lock of iptables is in /run, which is not to be written in the image that all machines share
    root = ["unshare", "--net", "--mount", "sh", "-c", 'mount -t tmpfs run "$0/run" && exec chroot "$0" sh -c "$1"']
    said = subprocess.run([*root, str(image.IMAGE), script], check=True, capture_output=True, text=True).stdout
    first, rest = said.split("SECOND\n")
    second, rest = rest.split("FLUSHED\n")
    flushed, again = rest.split("AGAIN\n")
    assert "169.254.169.254/32" in first
    assert second == first, "a second run leaves one rule of each"
    assert "169.254.169.254/32" not in flushed
    assert again == first


def test_the_kubelet_does_not_start_pods_before_the_rules() -> None:
    """Be a pod that runs before, or without, the rules.

    Refused by: the unit, which the kubelet requires.
    Seen in: the machine: `systemctl status mullion-closed-to-pods kubelet`.
    """
    for os in (None, "ubuntu-24.04", "debian-12"):
        node_plan = plan(os)
        lines = content(node_plan, "closed-to-pods-unit").splitlines()
        assert {"Before=kubelet.service", "RequiredBy=kubelet.service", "Type=oneshot"} <= set(lines)
        assert "RemainAfterExit=yes" not in lines, "each start of the kubelet runs it again"
        assert "OnUnitInactiveSec=5min" in content(node_plan, "closed-to-pods-timer")


@pytest.mark.parametrize("resource", ["pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy"])
def test_a_shell_over_a_websocket_is_in_the_audit_log(resource: str) -> None:
    """Open a shell in other pods over a WebSocket, whose verb is `get`, with the token of a program of Kubernetes.

    Refused by: the audit policy, which leaves out reads of those programs but no connections: the log says who it was.
    Seen in: the audit log, with the user, the pod and the kind of connection.
    """
    assert level(AGENT, "get", resource) == "Metadata"
