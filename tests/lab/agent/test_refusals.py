"""A real API server reads the longest list of revoked machines, and refuses exactly those on it."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from components.releases.order import older
from tests.agent.kubelets import CLIENT
from tests.awaited import until
from tests.lab.agent import refusing
from tests.lab.agent.served import TOKEN, Served

pytestmark = pytest.mark.lab
VERSION = "/version"


def certified(served: Served, name: str) -> dict[str, Any]:
    """Return the identity of a kubelet, approved by the administrator."""
    request = served.request(served.pem(name), CLIENT, {"token": TOKEN})
    served.kubectl("certificate", "approve", request)
    return served.issued(request)


def fingerprint(who: dict[str, Any]) -> str:
    """Return the credential of a certificate."""
    found = x509.load_pem_x509_certificate(who["certificate"].read_bytes())
    return f"X509SHA256={found.fingerprint(hashes.SHA256()).hex()}"


def test_a_list_of_5000_certificates_refuses_the_first_and_the_last_and_nobody_else(
    served: Served, module: Callable[[str], ModuleType]
) -> None:
    if older(served.kubernetes, "1.32"):
        pytest.skip("before 1.32 the API server does not tell with which certificate a request was made")
    listed, other = certified(served, "web-7"), certified(served, "web-8")
    most = module("revocations").MARKS
    for edge in ("0" * 64, "f" * 64):
        assert served.status(listed, VERSION) == 200
        filling = [f"X509SHA256={int(edge[:2], 16):02x}{number:062x}" for number in range(most - 1)]
        assert refusing.write(served.folder, [*filling, fingerprint(listed)])
        until(lambda: served.status(listed, VERSION) == 500, "the listed certificate is refused", seconds=120)
        assert served.status(other, VERSION) == 200
        refusing.nobody(served)
