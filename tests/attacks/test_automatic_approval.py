"""During an upgrade of the control plane: `kubeadm upgrade apply` binds kubeadm's automatic approvals again."""

import json
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.agent.kubelets import CLIENT
from tests.attacks import audit
from tests.awaited import until
from tests.lab.agent.served import TOKEN, Served

pytestmark = pytest.mark.lab

SECONDS = 10
"""kube-controller-manager, where its approver runs, needs less than 2 s."""


def test_no_controller_approves_a_token_holders_request_while_kubeadms_bindings_exist(
    served: Served, api: Any, module: Callable[[str], ModuleType]
) -> None:
    """Ask for a control plane's certificate with a bootstrap token while kubeadm's automatic approvals exist.

    Refused by: kube-controller-manager, which runs without its approver; the agent removes the bindings.
    Seen in: the request, which gets no condition; the audit log has the deletion of the bindings.
    """
    served._kubeadm("bootstrap-token", "--kubeconfig", str(served.administrator))
    assert "kubeadm:node-autoapprove-bootstrap" in served.kubectl("get", "clusterrolebindings", "--output", "name")
    planned = served.request(served.pem("web-0"), CLIENT, {"token": TOKEN})
    served.kubectl("certificate", "approve", planned)
    served.issued(planned)  # the controllers of certificates run
    name = served.request(served.pem("control-plane-0"), CLIENT, {"token": TOKEN})
    time.sleep(SECONDS)
    status = json.loads(served.kubectl("get", "csr", name, "--output", "json"))["status"]
    assert status == {}, "only the agent approves requests"
    module("signing").close(api)
    assert "node-autoapprove" not in served.kubectl("get", "clusterrolebindings", "--output", "name")
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kubeadm:node-autoapprove-bootstrap"
    until(lambda: audit.removed(served, bindings), "the audit log has the deletion")
