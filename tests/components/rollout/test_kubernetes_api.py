"""Calls of the Kubernetes API: over TLS both ways, by the endpoint's name, in words that a person can act on."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from components.machine import pki
from components.rollout.kubernetes_api import Access, KubernetesApi, Refused, Unreachable
from tests.engine.kubernetes import Cluster, serve

NAME = "api.dev.mullion.internal"
OURS, THEIRS = pki.certificate_authority("kubernetes"), pki.certificate_authority("kubernetes")


def asked(port: int, path: str = "/api/v1/nodes", *, ca: Any = OURS, signer: Any = OURS, name: str = NAME) -> Any:
    """What a call gives, trusting one authority and showing a certificate of another."""
    pair = pki.administrator_certificate(signer, "dev")
    access = Access(f"https://127.0.0.1:{port}", name, ca["certificate"], pair)
    return asyncio.run(KubernetesApi(access).call("GET", path))


def test_client_and_api_authenticate_each_other_by_certificate(tmp_path: Path) -> None:
    with serve(Cluster(nodes={"web-0": True}), NAME, OURS, tmp_path) as port:
        assert [each["metadata"]["name"] for each in asked(port)["items"]] == ["web-0"]


@pytest.mark.parametrize(
    ("differs", "said"),
    [
        ({"ca": THEIRS}, "CERTIFICATE_VERIFY_FAILED"),
        ({"name": "other"}, "CERTIFICATE_VERIFY_FAILED"),
        ({"signer": THEIRS}, "https"),
    ],
    ids=["another authority", "another name", "another administrator"],
)
def test_the_client_refuses_a_server_without_the_clusters_certificate(
    tmp_path: Path, differs: dict[str, Any], said: str
) -> None:
    with serve(Cluster(), NAME, OURS, tmp_path) as port, pytest.raises(Unreachable, match=said):
        asked(port, **differs)


def test_an_error_has_the_apis_status_and_message(tmp_path: Path) -> None:
    with serve(Cluster(), NAME, OURS, tmp_path) as port, pytest.raises(Refused, match="500: not known here") as caught:
        asked(port, "/apis/x")
    assert caught.value.status == 500


def test_the_error_names_the_address_if_nothing_answers() -> None:
    with pytest.raises(Unreachable, match=r"https://127\.0\.0\.1:1: "):
        asked(1)


def test_the_administrators_key_is_not_printed_and_no_pipe_stays_open() -> None:
    pair = pki.administrator_certificate(OURS, "dev")
    access = Access("https://127.0.0.1:1", NAME, OURS["certificate"], pair)
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208
    KubernetesApi(access)
    assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208
    assert "PRIVATE" not in repr(access)
