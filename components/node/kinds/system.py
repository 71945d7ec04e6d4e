"""Kinds for settings and components of the operating system."""

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
            "value": Field(NAME, "The host name."),
            "restart": Field(
                FLAG,
                "Whether to request a restart while the current name differs (default true); if not, the name takes"
                " effect at the next boot.",
                required=False,
                systems=("windows",),
            ),
        },
        compares="Linux: /etc/hostname and the kernel's host name. Windows: the name from the next boot on; requests a"
        " restart while the current name differs.",
        sets="Linux: sets both. Windows: sets the name from the next boot on.",
        cuts=_STEPPED,
        image=False,
    ),
    "environment": Kind(
        "The environment variable has the value in every new process.",
        {
            "variable": Field({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}, "Name of the variable."),
            "value": Field(TEXT, "Value of the variable."),
        },
        compares="Linux: the lines in /etc/environment and in systemd's configuration. Windows: the system variable.",
        sets="Writes the variable; others stay. Services that later steps start have it.",
    ),
    "module": Kind(
        "The kernel module is loaded, now and at boot.",
        {"module": Field(NAME, "Name of the module.")},
        compares="/sys/module, and the module's file in /etc/modules-load.d.",
        sets="Writes the file, then modprobe.",
        cuts=_STEPPED,
        systems=_LINUX,
    ),
    "sysctl": Kind(
        "The kernel setting has the value, now and at boot.",
        {
            "key": Field({"type": "string", "pattern": r"^[a-z0-9_]+(\.[A-Za-z0-9_-]+)+$"}, "Name, with dots."),
            "value": Field(TEXT, "Value of the setting."),
        },
        compares="/proc/sys, and the setting's file in /etc/sysctl.d.",
        sets="Writes the file, then /proc/sys.",
        cuts=_STEPPED,
        systems=_LINUX,
    ),
    "swap": Kind(
        "No swap is in use, now and after a boot.",
        {},
        compares="/proc/swaps and /etc/fstab.",
        sets="Comments out swap lines in /etc/fstab, then runs swapoff --all.",
        undo="swap in use",
        cuts=_STEPPED,
        systems=_LINUX,
    ),
    "time-source": Kind(
        "The machine's clock is synchronized with this server.",
        {"server": Field(NAME, "Address or name of the server.")},
        compares="The files below /etc/chrony/sources.d and /etc/systemd/timesyncd.conf.d.",
        sets="Writes both files, and restarts chrony or systemd-timesyncd, whichever runs.",
        cuts=_STEPPED,
        systems=_LINUX,
    ),
    "package": Kind(
        "The Debian package is installed in this version.",
        {
            "package": Field(NAME, "Name of the package."),
            "version": Field(NAME, "Full version."),
            "source": Field(PATH, "The .deb file; an earlier artifact step downloads it."),
        },
        compares="dpkg-query's status and version.",
        sets="dpkg --configure --pending, for an interrupted installation; then dpkg --install, without questions and"
        " keeping changed configuration files.",
        undo="another version of the package",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
        systems=("linux",),
        seconds=600,
    ),
    "user": Kind(
        "The system user exists; it has no password.",
        {
            "user": Field({"type": "string", "pattern": "^[a-z_][a-z0-9_-]{0,31}$"}, "Name of the user and its group."),
            "home": Field(PATH, "Home directory, which is not created; default /nonexistent.", required=False),
            "groups": Field(NAMES, "Additional groups, which must exist; other groups stay.", required=False),
        },
        compares="getent's entry (home, shell /usr/sbin/nologin), and the user's groups.",
        sets="useradd --system, or usermod.",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
        systems=("linux",),
    ),
    "build": Kind(
        "The machine runs this Windows build with at least this update revision; otherwise the run ends (501).",
        {
            "build": Field({"type": "string", "pattern": r"^10\.0\.\d{5}$"}, "Build, such as 10.0.17763."),
            "minimum_ubr": Field(COUNT, "Minimum of the version's fourth part.", required=False),
        },
        compares="CurrentBuildNumber and UBR in the registry.",
        sets="nothing",
        cuts=(),
        systems=_WINDOWS,
    ),
    "feature": Kind(
        "The Windows feature is installed.",
        {"feature": Field(NAME, "Name of the feature.")},
        compares="Get-WindowsFeature: Installed, or InstallPending, which requests a restart.",
        sets="Install-WindowsFeature; requests a restart if the cmdlet does. Restarts the machine at once if Windows"
        " refuses to install features until a pending restart.",
        cuts=_ONE,
        systems=_WINDOWS,
        seconds=1800,
    ),
    "partition": Kind(
        "The drive's partition fills its disk, and the drive had enough free space before anything was installed.",
        {
            "drive": Field({"type": "string", "pattern": "^[A-Z]$"}, "Letter of the drive."),
            "free_mb": Field(_MEGABYTES, "Free space that it must have once, in MiB; otherwise the run ends (303)."),
        },
        compares="Get-Disk: less than 1 GiB is unallocated, or Get-PartitionSupportedSize allows no larger partition;"
        " and that the free space was checked.",
        sets="Resize-Partition; then checks the free space and records that, because images use it up later.",
        cuts=_ONE,
        systems=_WINDOWS,
        seconds=300,
    ),
    "pagefile": Kind(
        "The page file of C: has this fixed size; Windows nodes must have one (RES-07).",
        {
            "initial_mb": Field(_MEGABYTES, "Size at boot, in MiB."),
            "maximum_mb": Field(_MEGABYTES, "Maximum size in MiB; at least initial_mb."),
            "other_drive": Field(FLAG, "Whether a page file of any size on another drive is enough.", required=False),
        },
        compares="PagingFiles in the registry (Session Manager\\Memory Management), and that Windows does not manage"
        " the size automatically.",
        sets="Writes both settings and requests a restart.",
        undo="page files on other drives",
        cuts=_ONE,
        systems=_WINDOWS,
    ),
    "defender-exclusion": Kind(
        "Defender excludes these programs, files and folders.",
        {"processes": Field(PATHS, "Programs."), "paths": Field(PATHS, "Files and folders.")},
        compares="Get-MpPreference; also true if Defender is not installed or does not run, if a policy makes it ignore"
        " the machine's own lists (DisableLocalAdminMerge), or if it still hides or refuses the exclusions after this"
        " run tried to add them: without exclusions programs only run slower.",
        sets="Adds missing exclusions; others stay.",
        cuts=_ONE,
        systems=_WINDOWS,
    ),
    "local-user": Kind(
        "The machine's local user is disabled or does not exist, so nobody can sign in with it.",
        {"user": Field(NAME, "Name of the user.")},
        compares="Get-LocalUser: Enabled.",
        sets="Disable-LocalUser.",
        systems=("windows",),
    ),
}
