"""The administrator's kubeconfig: the stored one while it lasts, then one issued from the stored authority."""

import base64
import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from pulumi import automation as auto

from components import pki
from operations import kubeconfigs

AUTHORITY = pki.certificate_authority("kubernetes")


def stored(days: int) -> str:
    administrator = pki.administrator_certificate(AUTHORITY, "dev", days)
    urls = ["https://people.example:6443", "https://api.dev.mullion.internal:6443"]
    return pki.administrator_kubeconfig("dev", urls, AUTHORITY["certificate"], administrator)


def engine_stack() -> auto.Stack:
    """A stack whose export holds the authority as `pulumi stack export --show-secrets` writes it."""
    secret = {
        "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
        "plaintext": json.dumps(AUTHORITY),
    }
    row: dict[str, Any] = {
        "type": "pulumi:index:Stash",
        "urn": "a::b::c::dev-cluster-ca",
        "outputs": {"output": secret},
    }
    deployment = auto.Deployment(version=3, deployment={"resources": [row]})
    return cast(auto.Stack, SimpleNamespace(workspace=SimpleNamespace(export_stack=lambda _: deployment)))


def certificate(text: str) -> str:
    return base64.b64decode(yaml.safe_load(text)["users"][0]["user"]["client-certificate-data"]).decode()


@pytest.mark.parametrize(("days", "renewed"), [(30, False), (6, False), (4, True), (0, True)])
def test_a_certificate_within_five_days_of_its_end_is_issued_anew(
    days: int, renewed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    before = stored(days)
    text = kubeconfigs.current("dev", before, engine_stack())
    assert (text != before) == renewed
    pki.verify(certificate(text), AUTHORITY["certificate"])
    assert [each["cluster"] for each in yaml.safe_load(text)["clusters"]] == [
        each["cluster"] for each in yaml.safe_load(before)["clusters"]
    ]
    assert "PRIVATE KEY" not in "".join(capsys.readouterr()), "keys go nowhere but into the file"
