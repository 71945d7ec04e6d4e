"""People sign in to a real API server by the planned options, with a real kubectl."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from components.spec.access import Oidc
from operations.commands.kubeconfig import sign_in as sign_in_kubeconfig
from tests.lab.agent.issuer import CLIENT
from tests.lab.agent.served import Served
from tests.lab.agent.sign_in import OURS, PODS, SECRETS, asked

pytestmark = pytest.mark.lab

BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


def test_groups_have_the_roles_of_the_stack_file(sign_in: Served) -> None:
    codes = {
        (group, path): asked(sign_in, path, sign_in.issuer.token(groups=[group], **OURS)).get("code", 200)
        for group in ("admins", "editors", "viewers")
        for path in (SECRETS, PODS, BINDINGS)
    }
    assert codes == {
        ("admins", SECRETS): 200,
        ("admins", PODS): 200,
        ("admins", BINDINGS): 200,
        ("editors", SECRETS): 200,
        ("editors", PODS): 200,
        ("editors", BINDINGS): 403,
        ("viewers", SECRETS): 403,
        ("viewers", PODS): 200,
        ("viewers", BINDINGS): 403,
    }


def test_kubectl_signs_in_by_the_plugin_that_the_kubeconfig_names(sign_in: Served, tmp_path: Path) -> None:
    config = tmp_path / "config"
    text = sign_in_kubeconfig("dev", sign_in.administrator.read_text(), Oidc(issuer=sign_in.issuer.url, client=CLIENT))
    document = yaml.safe_load(text)
    document["clusters"][0]["cluster"]["server"] = sign_in.url
    config.write_text(yaml.safe_dump(document))
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": sign_in.issuer.token(groups=["viewers"], **OURS)},
    }
    plugin, asked_with = tmp_path / "kubectl-oidc_login", tmp_path / "arguments"
    plugin.write_text(f"#!/bin/sh\necho \"$@\" > {asked_with}\ncat <<'E'\n{json.dumps(credential)}\nE\n")
    plugin.chmod(0o755)
    (tmp_path / "kubectl").symlink_to(sign_in.programs["kubectl"])
    argv = [str(tmp_path / "kubectl"), "--kubeconfig", str(config), "get", "pods", "--all-namespaces"]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ended = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60, env=environment)
    # other tests of this API server may leave pods
    assert "No resources found" in ended.stderr or ended.stdout.startswith("NAMESPACE")
    assert asked_with.read_text().split() == [
        "get-token",
        f"--oidc-issuer-url={sign_in.issuer.url}",
        f"--oidc-client-id={CLIENT}",
    ]
