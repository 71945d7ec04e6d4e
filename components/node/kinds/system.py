"""Kinds of settings and parts of the operating system."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import COUNT, FLAG, NAME, NAMES, PATH, PATHS, TEXT

_LINUX = ("linux",)
_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_ONE = (Cut.BEFORE_SET, Cut.AFTER_SET)
_WINDOWS = ("windows",)
_MEGABYTES = {"type": "integer", "minimum": 512, "maximum": 1048576}

SYSTEM: dict[str, Kind] = {
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
    "environment": Kind(
        "The variable has the value for every process that starts from now on.",
        {
            "variable": Field({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}, "Its name."),
            "value": Field(TEXT, "Its value."),
        },
        compares="Linux: the lines in /etc/environment and in systemd's own configuration; Windows: the machine's"
        " variable.",
        sets="Writes them; other variables stay. Services started by later steps have it.",
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
    "package": Kind(
        "The Debian package is installed in this version.",
        {
            "package": Field(NAME, "Its name."),
            "version": Field(NAME, "Its whole version."),
            "source": Field(PATH, "The .deb file; an earlier artifact step gets it."),
        },
        compares="dpkg-query's status and version.",
        sets="dpkg --install, without questions, keeping changed configuration; dpkg --configure --pending first,"
        " after a cut.",
        undo="another version of the package",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
        systems=("linux",),
        seconds=600,
    ),
    "user": Kind(
        "The system user exists; it has no password.",
        {
            "user": Field({"type": "string", "pattern": "^[a-z_][a-z0-9_-]{0,31}$"}, "Its name, also of its group."),
            "home": Field(PATH, "Its home; default /nonexistent. It is not made.", required=False),
            "groups": Field(NAMES, "Groups it is in too; they must exist. Others that it is in stay.", required=False),
        },
        compares="getent's entry (home, shell /usr/sbin/nologin), and its groups.",
        sets="useradd --system, or usermod.",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
        systems=("linux",),
    ),
    "build": Kind(
        "The machine runs this Windows build with at least this update revision; anything else ends the run (501).",
        {
            "build": Field({"type": "string", "pattern": r"^10\.0\.\d{5}$"}, "10.0.17763 and so on."),
            "minimum_ubr": Field(COUNT, "The fourth part of the version, at least.", required=False),
        },
        compares="CurrentBuildNumber and UBR in the registry.",
        sets="nothing",
        cuts=(),
        systems=_WINDOWS,
    ),
    "feature": Kind(
        "The Windows feature is installed.",
        {"feature": Field(NAME, "Its name.")},
        compares="Get-WindowsFeature: Installed, or InstallPending, which asks for a reboot step.",
        sets="Install-WindowsFeature; asks for a reboot step when it says so.",
        cuts=_ONE,
        systems=_WINDOWS,
        seconds=1800,
    ),
    "pagefile": Kind(
        "The page file of C: has this fixed size; Windows nodes must have one (RES-07).",
        {
            "initial_mb": Field(_MEGABYTES, "Size at boot, in MiB."),
            "maximum_mb": Field(_MEGABYTES, "It grows up to this, in MiB; at least initial_mb."),
        },
        compares="PagingFiles in the registry (Session Manager\\Memory Management) and that Windows does not choose the"
        " size itself.",
        sets="Writes them and asks for a reboot step.",
        undo="page files on other drives",
        cuts=_ONE,
        systems=_WINDOWS,
    ),
    "defender-exclusion": Kind(
        "Defender, where it runs, leaves these alone.",
        {"processes": Field(PATHS, "Programs."), "paths": Field(PATHS, "Files and folders.")},
        compares="Get-MpPreference; holds where Defender is not there or does not run.",
        sets="Adds what is missing; others stay.",
        cuts=_ONE,
        systems=_WINDOWS,
    ),
    "local-user": Kind(
        "Nobody can sign in as this user of the machine: it is disabled, or not there.",
        {"user": Field(NAME, "Its name.")},
        compares="Get-LocalUser: Enabled.",
        sets="Disable-LocalUser.",
        systems=("windows",),
    ),
}
