r"""Windows machines of a booted world: winpwsh machines with what these lack of Windows, or real Windows Servers.

MULLION_WINPWSH names the program that makes such machines: PowerShell for Windows under Wine, with a disk, a registry
and services of their own. Windows' own modules (HNS, NetSecurity, ScheduledTasks, ...) are stand-ins in modules/: they
refuse what the real ones would, keep in C:\fakes what they were asked for, and lose at a boot what Windows loses.

MULLION_WINDOWS_HOSTS names a file of real Windows Servers (hosts.py): machines that it has boot there, with nothing of
Windows imitated (host.py).
"""

import os

TOOL = "MULLION_WINPWSH"


def tool() -> str:
    """The program that makes Windows machines; empty where there is none."""
    return os.environ.get(TOOL, "")
