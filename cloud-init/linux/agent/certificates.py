"""Renewal of kubeadm's certificates, which are valid for a year, and restart of the programs that use them.

kubelets renew their own. kubeadm renews a machine's certificates at each upgrade too, so this is for clusters that are
not upgraded for months.
"""

import re
import ssl
import time

import static_pods
from kinds import certificates as files
from run import Run

from agent.configuration import Configuration

DAY = 86400
SHARE = 4
"""Renew in the last quarter of the validity, so that short-lived certificates are not renewed without end."""
URGENT_SHARE, URGENT_DAYS = 26, 14
"""The same for a renewal without a turn and without the API: the last 14 days of a year."""
DATES = re.compile(r"notBefore=(.+)\nnotAfter=(.+)")


def due(run: Run, configuration: Configuration) -> bool:
    """Return whether one of this machine's certificates ends soon or cannot be read."""
    section = configuration["certificates"]
    found = [dates(run, str(run.path(each))) for each in section["files"]]
    return any(each is None or soon(*each, SHARE, section["days"]) for each in found)


def urgent(run: Run, configuration: Configuration, me: str) -> bool:
    """Return whether one of this machine's certificates can wait no longer for a turn, or has ended.

    The second machine waits for a day longer, and so on, so that not all restart their API servers at once.
    """
    number = me.rpartition("-")[2]
    days = URGENT_DAYS - min(int(number) if number.isdigit() else 0, URGENT_DAYS - 1)
    found = [dates(run, str(run.path(each))) for each in configuration["certificates"]["files"]]
    return any(each and soon(*each, URGENT_SHARE, days) for each in found)


def ended(run: Run, configuration: Configuration) -> bool:
    """Return whether one of this machine's certificates has ended."""
    found = [dates(run, str(run.path(each))) for each in configuration["certificates"]["files"]]
    return any(each and each[1] <= time.time() for each in found)


def soon(begin: float, end: float, share: float, days: float) -> bool:
    """Return whether it is in the last part of its validity, with less than so many days left."""
    return end - time.time() < min((end - begin) / share, days * DAY)


def dates(run: Run, file: str) -> tuple[float, float] | None:
    """Return begin and end of a certificate's validity, seconds since 1970; None if it cannot be read."""
    found = DATES.search(run.command("openssl", "x509", "-in", file, "-noout", "-dates", check=False).stdout)
    return (ssl.cert_time_to_seconds(found[1]), ssl.cert_time_to_seconds(found[2])) if found else None


def renew(run: Run, configuration: Configuration) -> None:
    """Renew all certificates, then restart the static pods, which read them only at their start."""
    section = configuration["certificates"]
    if "whole" in section:
        files.renew(run, section["whole"], section["renew"])
        files.complete(run, section["whole"])
    else:
        run.command(*section["renew"])
    static_pods.stop(run, configuration, *configuration["pods"]["find"])
