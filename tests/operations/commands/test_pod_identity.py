"""What commands say of `pod_identity`: the plan before, and the report after `up`."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from operations.commands import plan_text, report
from tests.operations.conftest import STACK

ACCOUNT = "{namespace: shop, name: uploads, policies: [arn:aws:iam::111122223333:policy/shop-uploads]}"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (f"service_accounts: [{ACCOUNT}]", "which signs tokens; roles (policies): shop/uploads (1)"),
        ("issuer: accepted", "which is only accepted; roles (policies): none"),
    ],
)
def test_the_plan_names_the_public_bucket_and_the_roles(
    clone: Path, mullion: Callable[..., Result], option: str, said: str
) -> None:
    (clone / "stacks" / "Pulumi.small.yaml").write_text(f"{STACK}    pod_identity: {{{option}}}\n")
    result = mullion("plan", "small")
    assert result.exit_code == 0, result.output
    assert f"a public bucket has the issuer, {said}" in result.stdout


def test_the_report_names_issuer_and_roles_only_where_there_are_some() -> None:
    role = "arn:aws:iam::111122223333:role/demo-pods-shop-uploads-cc9ce375-0123abc"
    text = report.access({"issuer": "https://issuer.example.com", "pod_roles": {"shop/uploads": role}}, "kubeconfig")
    assert "Issuer      https://issuer.example.com" in text and f"{role} (shop/uploads)" in text
    assert "Issuer" not in report.access({"issuer": "", "pod_roles": {}}, "kubeconfig")


def test_the_report_names_the_tenant_of_client_ids_on_azure() -> None:
    outputs = {"issuer": "https://i.z6.web.core.windows.net", "pod_roles": {"shop/uploads": "1-2"}, "pod_tenant": "3-4"}
    text = report.access(outputs, "kubeconfig")
    assert "1-2 (shop/uploads)" in text and "Tenant      3-4" in text
    assert "Tenant" not in report.access({"pod_roles": {"shop/uploads": "1-2"}}, "kubeconfig")


def test_the_plan_names_the_public_website_and_the_identities_on_azure() -> None:
    accounts = [{"namespace": "shop", "name": "uploads", "policies": []}]
    [line] = plan_text._roles("azure", {"issuer": "accepted", "service_accounts": accounts})
    assert line.endswith("a public website has the issuer, which is only accepted; managed identities: shop/uploads")
