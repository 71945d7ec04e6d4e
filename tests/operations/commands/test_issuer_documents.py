"""`mullion doctor STACK` reads the issuer's documents as everybody does, and compares them with the state."""

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from components.machine import pki
from components.machine.issuer import discovery, key_set, md5
from components.spec.pod_identity import DISCOVERY, KEYS
from operations.commands import issuer_documents

URL = "https://dev-issuer-bcdfgh-111122223333-eu-west-1-an.s3.eu-west-1.amazonaws.com"
DOCUMENTS = {f"{URL}/{DISCOVERY}": discovery(URL), f"{URL}/{KEYS}": key_set([pki.signing_key()["public"]])}


def state(issuer: str = URL) -> list[dict[str, Any]]:
    objects = [
        {
            "type": issuer_documents.OBJECT,
            "inputs": {"key": url.removeprefix(f"{URL}/"), "content": text},
        }
        for url, text in DOCUMENTS.items()
    ]
    return [{"type": "pulumi:pulumi:Stack", "outputs": {"issuer": issuer}}, *objects]


def azures_state() -> list[dict[str, Any]]:
    """Return a state of Azure, which has files by their digest alone."""
    blobs = [
        {"type": issuer_documents.BLOB, "inputs": {"blobName": url.removeprefix(f"{URL}/"), "contentMd5": md5(text)}}
        for url, text in DOCUMENTS.items()
    ]
    other = {"type": issuer_documents.BLOB, "inputs": {"blobName": "ca.crt"}}
    return [{"type": "pulumi:pulumi:Stack", "outputs": {"issuer": URL}}, *blobs, other]


def said(served: Mapping[str, str], resources: list[dict[str, Any]] | None = None) -> list[str]:
    def answer(request: httpx.Request) -> httpx.Response:
        assert "authorization" not in request.headers
        text = served.get(str(request.url))
        return httpx.Response(403) if text is None else httpx.Response(200, text=text)

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        return issuer_documents.faults(URL, resources or state(), lambda url: client.get(url).raise_for_status().text)


def test_the_documents_that_the_program_wrote_have_no_fault_however_they_are_laid_out() -> None:
    assert said(DOCUMENTS) == []
    assert said({url: json.dumps(json.loads(text), indent=1) for url, text in DOCUMENTS.items()}) == []


def test_documents_that_the_world_cannot_read_are_named_with_the_fix() -> None:
    [first, second] = said({})
    assert first.startswith(f"{URL}/{DISCOVERY}: not readable without credentials") and "public access block" in first
    assert "403" in second


@pytest.mark.parametrize(
    ("text", "match"), [(key_set([pki.signing_key()["public"]]), "not what `up` wrote"), ("<html>", "no JSON")]
)
def test_keys_that_somebody_has_overwritten_are_named(text: str, match: str) -> None:
    [fault] = said({**DOCUMENTS, f"{URL}/{KEYS}": text})
    assert fault.startswith(f"{URL}/{KEYS}: ") and match in fault


def test_the_issuer_is_an_output_of_the_stack() -> None:
    assert issuer_documents.issuer_of(state()) == URL
    assert issuer_documents.issuer_of(state(issuer="")) == issuer_documents.issuer_of([]) == ""


def test_documents_of_a_website_on_azure_are_compared_by_their_digests() -> None:
    assert said(DOCUMENTS, azures_state()) == []
    [fault] = said({**DOCUMENTS, f"{URL}/{KEYS}": key_set([pki.signing_key()["public"]])}, azures_state())
    assert "not what `up` wrote" in fault
    [first, _] = said({}, azures_state())
    assert "Entra ID refuses every token; look for a policy" in first
