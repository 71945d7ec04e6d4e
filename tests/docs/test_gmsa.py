"""The stack file of docs/gmsa.md has no problem, and the cluster that it describes takes the page's pod."""

import re
from typing import Any

import yaml

from components.lint import Context
from components.lint.documents import Manifests, Object
from components.lint.judge import lint
from components.spec.models import ClusterSpec
from components.stack_files.stack import CLUSTER, read_stack
from tests.components.spec.documents import REGION
from tests.docs.pages import ROOT

BLOCKS = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "gmsa.md").read_text("utf-8"), re.DOTALL)


def described() -> tuple[ClusterSpec, set[str], dict[str, Any]]:
    """Return the spec of the page, the ids of its warnings, and the page's pod."""
    stack, pod = (yaml.safe_load(block.replace("sha256: ...", f"sha256: {64 * 'a'}")) for block in BLOCKS)
    read = read_stack("a", {**REGION, CLUSTER: stack[CLUSTER]})
    return read.spec, {each.id for each in read.warnings}, pod


def test_the_stack_file_has_no_warning_about_gmsa() -> None:
    spec, warnings, _ = described()
    assert spec.gmsa.plugin
    assert not [each for each in warnings if each.startswith("gmsa")]


def test_the_pod_names_a_credential_spec_that_its_account_may_use() -> None:
    spec, _, pod = described()
    assert [
        each.rule.id for each in lint(Manifests((Object(pod),)), Context(spec)).findings if each.rule.id == "gmsa"
    ] == []
    name = pod["spec"]["securityContext"]["windowsOptions"]["gmsaCredentialSpecName"]
    assert f"{pod['metadata']['namespace']}/default" in spec.gmsa.credential_specs[name].users
