"""Certificates that kubeadm made for a year: renewed long before their end, and their users started anew.

kubelets renew their own. kubeadm renews all of a machine at each upgrade too, so this is for clusters that rest.
"""

import re
import ssl
import time

from run import Run

from agent import pods
from agent.configuration import Configuration

DAY = 86400
SHARE = 4
"""One is due in the last quarter of its life, so that short-lived ones are not renewed without end."""
DATES = re.compile(r"notBefore=(.+)\nnotAfter=(.+)")


def due(run: Run, configuration: Configuration) -> bool:
    """Whether one of this machine's certificates ends soon, or is none."""
    told = configuration["certificates"]
    return any(ends_soon(run, str(run.path(each)), told["days"] * DAY) for each in told["files"])


def ends_soon(run: Run, file: str, longest: float) -> bool:
    """Whether it is in the last quarter of its life, and has less than `longest` seconds left."""
    found = DATES.search(run.command("openssl", "x509", "-in", file, "-noout", "-dates", check=False).stdout)
    if not found:
        return True
    begin, end = map(ssl.cert_time_to_seconds, found.groups())
    return end - time.time() < min((end - begin) / SHARE, longest)


def renew(run: Run, configuration: Configuration) -> None:
    """Renew them all, then have the kubelet make the static pods anew: programs read certificates when they start."""
    run.command(*configuration["certificates"]["renew"])
    pods.stop(run, configuration, *configuration["pods"]["find"])
