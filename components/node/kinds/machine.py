"""Kinds about the machine itself: name, restarts, the host's firewall, the Linux kernel."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import FLAG, NAME, PROTOCOL, TEXT

_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_PORTS = {"type": "string", "pattern": r"^\d{1,5}(-\d{1,5})?$"}
_LINUX = ("linux",)

MACHINE: dict[str, Kind] = {
    "hostname": Kind(
        "The machine has this host name.",
        {
            "value": Field(NAME, "The name."),
            "restart": Field(
                FLAG,
                "Whether it asks for a reboot step while this boot uses another name (default), or just holds from the"
                " next boot on.",
                required=False,
                systems=("windows",),
            ),
        },
        compares="Linux: /etc/hostname and the kernel's. Windows: the name of the next boot; a reboot step is asked for"
        " while this boot uses another.",
        sets="Both; on Windows for the next boot.",
        cuts=_STEPPED,
        image=False,
    ),
    "reboot": Kind(
        "The machine restarts if an earlier step asked for it, and goes on after it.",
        {},
        compares="That no step asked for a restart since this boot, nor (Linux) a package: /run/reboot-required.",
        sets="Counts (503 after 5 restarts in a row), writes the result (state reboot), restarts.",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
        on_change=OnChange.NEW_NODES,
    ),
    "firewall-rule": Kind(
        "The host's firewall lets the protocol in on the ports.",
        {
            "rule": Field(NAME, "Its name."),
            "protocol": Field(PROTOCOL, "tcp or udp."),
            "ports": Field({"type": "array", "items": _PORTS, "minItems": 1}, "Ports and ranges: 4789, 30000-32767."),
            "sources": Field(
                {"type": "array", "items": NAME, "minItems": 1},
                "Addresses and ranges it is open to; default any.",
                required=False,
            ),
        },
        compares="Linux: each rule in iptables' INPUT chain. Windows: the rule of that name, enabled, with protocol,"
        " ports and sources.",
        sets="Linux: inserts what is missing at the head. Windows: makes the rule anew.",
        undo="Windows: an older rule of that name",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
    ),
    "module": Kind(
        "The kernel module is loaded, now and at boot.",
        {"module": Field(NAME, "Its name.")},
        compares="/sys/module, and its file in /etc/modules-load.d.",
        sets="Writes the file, then modprobe.",
        cuts=_STEPPED,
        systems=_LINUX,
    ),
    "sysctl": Kind(
        "The kernel setting has the value, now and at boot.",
        {
            "key": Field({"type": "string", "pattern": r"^[a-z0-9_]+(\.[A-Za-z0-9_-]+)+$"}, "Its name, with dots."),
            "value": Field(TEXT, "Its value."),
        },
        compares="/proc/sys, and its file in /etc/sysctl.d.",
        sets="Writes the file, then the kernel's.",
        cuts=_STEPPED,
        systems=_LINUX,
    ),
    "swap": Kind(
        "No swap is in use, now and after a boot.",
        {},
        compares="/proc/swaps and /etc/fstab.",
        sets="Turns its lines in fstab into comments, then swapoff --all.",
        undo="swap in use",
        cuts=_STEPPED,
        systems=_LINUX,
    ),
    "time-source": Kind(
        "The machine's clock follows this server.",
        {"server": Field(NAME, "Its address or name.")},
        compares="The files below /etc/chrony/sources.d and /etc/systemd/timesyncd.conf.d.",
        sets="Writes both, and restarts whichever of chrony and systemd-timesyncd runs.",
        cuts=_STEPPED,
        systems=_LINUX,
    ),
}
