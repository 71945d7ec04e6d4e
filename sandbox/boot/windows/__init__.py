r"""Windows machines of a booted sandbox: winpwsh machines with stand-ins for parts of Windows, or real Windows Servers.

MULLION_WINPWSH names the program winpwsh, which runs PowerShell for Windows under Wine; each machine has a disk, a
registry and services. Modules of Windows (HNS, NetSecurity, ScheduledTasks, ...) are stand-ins in modules/: they refuse
what the real ones refuse, record calls in C:\fakes, and lose at a boot what Windows loses.

MULLION_WINDOWS_HOSTS names a file of real Windows Servers (hosts.py): its machines boot there, without stand-ins for
Windows (host.py).
"""

import os

TOOL = "MULLION_WINPWSH"


def tool() -> str:
    """Return the path of winpwsh; empty if there is none."""
    return os.environ.get(TOOL, "")
