"""docs/sandbox.md lists what the tables of all clouds hold."""

from pathlib import Path

import pytest

from sandbox.aws.quotas import QUOTAS as AWS
from sandbox.azure.quotas import QUOTAS as AZURE
from sandbox.clouds import CLOUDS, of
from sandbox.gcp.quotas import QUOTAS as GCP

PAGE = Path(__file__).parents[2].joinpath("docs", "sandbox.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("quotas", [AWS, AZURE, GCP], ids=["aws", "azure", "gcp"])
def test_the_page_has_every_quota_with_its_code(quotas) -> None:
    for name, quota in quotas.rows.items():
        here = f" (here {quota.granted:,})" if quota.granted else ""
        assert f"| {name} | {quota.default:,}{here} | `{quota.code}` |" in PAGE


@pytest.mark.parametrize("name", CLOUDS)
def test_the_page_has_the_errors_of_planned_faults(name: str) -> None:
    assert of(name).failures.internal[0] in PAGE
