"""docs/cis.md: its statements about the configuration of the newest Kubernetes version agree with the plans."""

import re
from typing import Any

import pytest

from components.node.kinds import ref
from components.node.plan import NodePlan
from operations.stacks.paths import REPOSITORY
from tools.golden.plans import NEWEST
from tools.golden.samples import content, one, plan

CONTROL_PLANE, WORKER = plan(None, kubernetes=NEWEST), plan("ubuntu-24.04", kubernetes=NEWEST)


def flags(component: str) -> dict[str, str]:
    """Return the flags that the plan gives a component of the control plane; kubeadm's own stay beside them."""
    document: dict[str, Any] = content(CONTROL_PLANE, "init-config")[1]
    return {each["name"]: each["value"] for each in document[component]["extraArgs"]}


API, MANAGER = flags("apiServer"), flags("controllerManager")
ACCEPTED: dict[str, bool] = {
    "1.1.9": not [step for step in WORKER.steps if "/etc/cni/net.d" in str(step.fields.get("path"))],
    "1.1.12": one(CONTROL_PLANE, "etcd-data").fields["access"] == "private",
    "1.2.1": "anonymous-auth" not in API,
    "1.2.3": "enable-admission-plugins" not in API,
    "1.2.9": "enable-admission-plugins" not in API,
    "1.2.11": "enable-admission-plugins" not in API,
    "1.2.20": "request-timeout" not in API,
    "1.2.28": API["encryption-provider-config"] == one(CONTROL_PLANE, "encryption").fields["path"],
    "1.2.29": "tls-cipher-suites" not in API and "tls-min-version" not in API,
    "1.2.30": "service-account-extend-token-expiration" not in API,
    "1.3.1": "terminated-pod-gc-threshold" not in MANAGER,
    "3.1.1": "client-ca-file" not in API,
    "3.1.2": "service-account-issuer" not in API,
    "3.1.3": "enable-bootstrap-token-auth" not in API,
    "3.2.2": {each["level"] for each in content(CONTROL_PLANE, "audit-policy")["rules"]} == {"None", "Metadata"},
    "4.1.3": not [step for step in WORKER.steps if "kube-proxy" in step.name],
    "4.1.4": not [step for step in WORKER.steps if "kube-proxy" in step.name],
    "4.2.7": "--hostname-override" in one(WORKER, "kubelet").fields["command"],
    "4.2.9": content(WORKER, "kubelet-patch")["serverTLSBootstrap"] is True,
    "4.2.12": "tlsCipherSuites" not in content(WORKER, "kubelet-patch"),
    "4.2.13": "podPidsLimit" not in content(WORKER, "kubelet-patch"),
    "4.2.14": "seccompDefault" not in content(WORKER, "kubelet-patch"),
}
"""Check of the CIS Benchmark -> whether the plan agrees with the accepted row."""


def accepted() -> set[str]:
    """Return the checks that the page accepts."""
    text = (REPOSITORY / "docs/cis.md").read_text("utf-8").partition("## Accepted")[2]
    return {check for cell in re.findall(r"(?m)^\| ([\d., ]+) \|", text) for check in cell.split(", ")}


def test_each_accepted_row_is_compared_with_the_plan() -> None:
    assert accepted() == set(ACCEPTED)
    assert [check for check, holds in ACCEPTED.items() if not holds] == []


@pytest.mark.parametrize("made", [CONTROL_PLANE, WORKER], ids=["control plane", "worker"])
def test_nothing_weakens_what_kubeadm_sets_for_the_kubelet(made: NodePlan) -> None:
    """Parts 4.2.1 to 4.2.6: kubeadm's values pass, so the plan must not have these fields."""
    config = content(made, "kubelet-patch")
    weak = ("authentication", "authorization", "readOnlyPort", "protectKernelDefaults", "makeIPTablesUtilChains")
    assert not set(weak) & set(config)
    assert config["rotateCertificates"] is True
    assert one(made, "kubelet-config-access" if made is WORKER else "kubelet-patch")


def test_the_flags_that_passed_are_still_planned() -> None:
    """1.2.5, 1.2.15 to 1.2.19, 1.2.27, 1.3.2, 1.4.1, 3.2.1."""
    assert API["kubelet-certificate-authority"] == "/etc/kubernetes/pki/ca.crt"
    log = {name: API[f"audit-log-{name}"] for name in ("maxage", "maxbackup", "maxsize", "path")}
    assert log == {"maxage": "30", "maxbackup": "10", "maxsize": "100", "path": "/var/log/kubernetes/audit/audit.log"}
    assert API["audit-policy-file"] == one(CONTROL_PLANE, "audit-policy").fields["path"]
    assert {each["profiling"] for each in (API, MANAGER, flags("scheduler"))} == {"false"}
    assert ref("machine.name") in one(CONTROL_PLANE, "kubelet").fields["command"]
