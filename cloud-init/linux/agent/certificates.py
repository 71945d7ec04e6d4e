"""Renewal of kubeadm's certificates, which are valid for a year, and restart of the programs that use them.

kubelets renew their own. kubeadm renews a machine's certificates at each upgrade too, so this is for clusters that are
not upgraded for months.
"""

import re
import ssl
import time

from run import Run

from agent import pods
from agent.configuration import Configuration

DAY = 86400
SHARE = 4
"""Renew in the last quarter of the validity, so that short-lived certificates are not renewed without end."""
DATES = re.compile(r"notBefore=(.+)\nnotAfter=(.+)")


def due(run: Run, configuration: Configuration) -> bool:
    """Return whether one of this machine's certificates ends soon or cannot be read."""
    told = configuration["certificates"]
    return any(ends_soon(run, str(run.path(each)), told["days"] * DAY) for each in told["files"])


def ends_soon(run: Run, file: str, longest: float) -> bool:
    """Return whether it is in the last quarter of its validity with less than `longest` seconds left."""
    found = DATES.search(run.command("openssl", "x509", "-in", file, "-noout", "-dates", check=False).stdout)
    if not found:
        return True
    begin, end = map(ssl.cert_time_to_seconds, found.groups())
    return end - time.time() < min((end - begin) / SHARE, longest)


def renew(run: Run, configuration: Configuration) -> None:
    """Renew all certificates, then restart the static pods, which read them only at their start."""
    run.command(*configuration["certificates"]["renew"])
    pods.stop(run, configuration, *configuration["pods"]["find"])
