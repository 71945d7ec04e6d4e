"""Starts the executor if the kubelet's certificate ended or lost its authority; the step `rejoin` then joins again.

The kubelet cannot renew a certificate that has ended, for example after a day without the API, and exits.
"""

from pathlib import Path
from typing import Any

import epoch
from authorities import JOINED
from kinds.joining import is_valid
from report import CA, KUBELET

CERTIFICATE = KUBELET.format("client")


def follow(told: dict[str, Any], root: Path) -> None:
    """Start the executor unless the certificate is valid or the executor runs. Raise Failure if that fails."""
    if not (root / JOINED.lstrip("/")).exists():
        return
    if is_valid(root / CERTIFICATE.lstrip("/"), told["machine"]["name"], root / CA.lstrip("/")):
        return
    epoch.start_executor()
