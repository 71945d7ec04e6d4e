"""docs/cis.md: each row of a check agrees with the plans of the newest Kubernetes version."""

import re
from typing import Any, NamedTuple

from components.node.kinds import ref
from components.node.plan import NodePlan
from operations.stacks.paths import REPOSITORY
from tests.cis import FILES
from tools.golden.plans import NEWEST
from tools.golden.samples import content, init_documents, one, plan

CONTROL_PLANE, WORKER = plan(None, kubernetes=NEWEST), plan("ubuntu-24.04", kubernetes=NEWEST)
CHECKS = [
    f"{section}.{number}"
    for section, count in {
        "1.1": 21, "1.2": 30, "1.3": 7, "1.4": 2, "2": 7, "3.1": 3, "3.2": 2, "4.1": 10, "4.2": 14, "4.3": 1
    }.items()
    for number in range(1, count + 1)
]  # fmt: skip
"""The checks of kube-bench's list cis-1.12 for control plane, etcd, control-plane configuration and nodes."""
PAGE = (REPOSITORY / "docs/cis.md").read_text("utf-8")


class Row(NamedTuple):
    """A row of the page."""

    check: str
    results: tuple[str, ...]
    """Of the control plane, and in part 4 of workers too."""
    reason: str


def rows() -> list[Row]:
    """Return the rows of the page's tables of checks."""
    found: list[Row] = []
    for line in PAGE.splitlines():
        cells = [each.strip() for each in line.strip("|").split("|")]
        if re.fullmatch(r"\d\.[\d.]+", cells[0]):
            check, _, *results, reason = cells
            found.append(Row(check, tuple(results), reason))
    return found


ROWS = {row.check: row for row in rows()}


def flags(component: str) -> dict[str, str]:
    """Return the flags that the plan gives a component of the control plane; kubeadm's own stay beside them."""
    document: dict[str, Any] = init_documents(CONTROL_PLANE)["ClusterConfiguration"]
    component_part = document["etcd"]["local"] if component == "etcd" else document[component]
    return {each["name"]: each["value"] for each in component_part["extraArgs"]}


API, MANAGER, SCHEDULER, ETCD = (flags(each) for each in ("apiServer", "controllerManager", "scheduler", "etcd"))
KUBELETS = [content(each, "kubelet-patch") for each in (CONTROL_PLANE, WORKER)]
COMMANDS = [one(each, "kubelet").fields["command"] for each in (CONTROL_PLANE, WORKER)]
PROXY = init_documents(CONTROL_PLANE)["KubeProxyConfiguration"]


def written(name: str) -> bool:
    """Return whether a step of either plan has a path with this in it."""
    return any(name in str(step.fields.get("path")) for made in (CONTROL_PLANE, WORKER) for step in made.steps)


def left(flags_of_plan: dict[str, str], *names: str) -> bool:
    """Return whether the plan leaves these flags to kubeadm or to the program's default."""
    return not set(names) & set(flags_of_plan)


def unset(*fields: str) -> bool:
    """Return whether both plans leave these fields of the kubelet to kubeadm or to the kubelet's default."""
    return not any(set(fields) & set(each) for each in KUBELETS)


def steps(kind: str) -> set[str]:
    """Return the names of the control plane's steps of this kind."""
    return {step.name for step in CONTROL_PLANE.steps if step.kind == kind}


def private(made: NodePlan, name: str, path: str) -> bool:
    """Return whether a step closes this path to others than root."""
    fields = one(made, name).fields
    return fields["path"] == path and fields["access"] == "private"


BOTH = (CONTROL_PLANE, WORKER)
AUTHORITIES = {f"pki-{name}.{kind}" for name in ("ca", "front-proxy-ca", "etcd/ca") for kind in ("crt", "key")}
LISTED_AUTHORIZERS = (
    left(API, "authorization-mode")
    and steps("authorization-configuration") == {"authorization"}
    and API["authorization-config"] == one(CONTROL_PLANE, "authorization").fields["path"]
)
"""The step writes the file with Node and RBAC: tests/agent/test_refusals.py."""

PASS: dict[str, bool] = {
    **{f"1.1.{number}": not written("/etc/kubernetes/manifests") for number in range(1, 9)},
    "1.1.10": not written("/etc/cni/net.d") and not written("/var/lib/cni"),
    "1.1.11": private(CONTROL_PLANE, "etcd-data", "/var/lib/etcd"),
    **{f"1.1.{number}": not written("admin.conf") for number in (13, 14)},
    **{f"1.1.{number}": not written("scheduler.conf") for number in (15, 16)},
    **{f"1.1.{number}": not written("controller-manager.conf") for number in (17, 18)},
    # steps of the kind secret write for root only, certificates too
    **{f"1.1.{number}": steps("secret") >= AUTHORITIES for number in (19, 20, 21)},
    "1.2.2": left(API, "token-auth-file"),
    "1.2.4": left(API, "kubelet-client-certificate", "kubelet-client-key"),
    "1.2.5": API["kubelet-certificate-authority"] == "/etc/kubernetes/pki/ca.crt",
    **{f"1.2.{number}": left(API, "enable-admission-plugins") for number in (10, 14)},
    **{f"1.2.{number}": left(API, "disable-admission-plugins") for number in (12, 13)},
    "1.2.15": API["profiling"] == "false",
    "1.2.16": API["audit-log-path"] == "/var/log/kubernetes/audit/audit.log",
    "1.2.17": API["audit-log-maxage"] == "30",
    "1.2.18": API["audit-log-maxbackup"] == "10",
    "1.2.19": API["audit-log-maxsize"] == "100",
    "1.2.21": left(API, "service-account-lookup"),
    "1.2.22": left(API, "service-account-key-file"),
    "1.2.23": left(API, "etcd-certfile", "etcd-keyfile"),
    "1.2.24": left(API, "tls-cert-file", "tls-private-key-file"),
    "1.2.25": left(API, "client-ca-file"),
    "1.2.26": left(API, "etcd-cafile"),
    "1.2.27": API["encryption-provider-config"] == one(CONTROL_PLANE, "encryption").fields["path"],
    "1.3.2": MANAGER["profiling"] == "false",
    "1.3.3": left(MANAGER, "use-service-account-credentials"),
    "1.3.4": left(MANAGER, "service-account-private-key-file"),
    "1.3.5": left(MANAGER, "root-ca-file"),
    "1.3.6": left(MANAGER, "feature-gates"),
    "1.3.7": left(MANAGER, "bind-address"),
    "1.4.1": SCHEDULER["profiling"] == "false",
    "1.4.2": left(SCHEDULER, "bind-address"),
    "2.1": left(ETCD, "cert-file", "key-file"),
    "2.2": left(ETCD, "client-cert-auth"),
    "2.3": left(ETCD, "auto-tls"),
    "2.4": left(ETCD, "peer-cert-file", "peer-key-file"),
    "2.5": left(ETCD, "peer-client-cert-auth"),
    "2.6": left(ETCD, "peer-auto-tls"),
    "2.7": left(ETCD, "trusted-ca-file") and steps("secret") >= AUTHORITIES,
    "3.2.1": API["audit-policy-file"] == one(CONTROL_PLANE, "audit-policy").fields["path"],
    # the executor writes units for root only: UNIT_MODE in cloud-init/linux/kinds/services.py
    **{f"4.1.{number}": all(one(each, "kubelet").kind == "service" for each in BOTH) for number in (1, 2)},
    **{f"4.1.{number}": not written("/etc/kubernetes/kubelet.conf") for number in (5, 6)},
    **{f"4.1.{number}": "pki-ca.crt" in steps("secret") for number in (7, 8)},
    **{
        f"4.1.{number}": all(private(each, "kubelet-config-access", "/var/lib/kubelet/config.yaml") for each in BOTH)
        for number in (9, 10)
    },
    # kubeadm's values pass
    **{f"4.2.{number}": unset("authentication", "authorization") for number in (1, 2, 3)},
    "4.2.4": unset("readOnlyPort"),
    "4.2.5": unset("streamingConnectionIdleTimeout"),
    "4.2.6": unset("makeIPTablesUtilChains"),
    "4.2.8": unset("eventRecordQPS"),
    "4.2.10": all(each["rotateCertificates"] is True for each in KUBELETS),
    "4.2.11": unset("featureGates") and all(each["serverTLSBootstrap"] is True for each in KUBELETS),
    "4.3.1": "metricsBindAddress" not in PROXY,
}
BY_HAND: dict[str, bool] = {
    "1.2.20": left(API, "request-timeout"),
    "1.2.28": one(CONTROL_PLANE, "encryption").fields["resources"] == ["secrets"],
    "3.1.2": left(API, "service-account-issuer"),
    "3.1.3": left(API, "enable-bootstrap-token-auth"),
    "3.2.2": {each["level"] for each in content(CONTROL_PLANE, "audit-policy")["rules"]} == {"None", "Metadata"},
}
ACCEPTED: dict[str, bool] = {
    "1.1.9": not written("/etc/cni/net.d") and not written("/var/lib/cni"),
    "1.1.12": private(CONTROL_PLANE, "etcd-data", "/var/lib/etcd"),
    "1.2.1": left(API, "anonymous-auth", "authentication-config"),
    **{f"1.2.{number}": LISTED_AUTHORIZERS for number in (6, 7, 8)},
    **{f"1.2.{number}": left(API, "enable-admission-plugins") for number in (3, 9, 11)},
    "1.2.29": left(API, "tls-cipher-suites", "tls-min-version"),
    "1.2.30": left(API, "service-account-extend-token-expiration"),
    "1.3.1": left(MANAGER, "terminated-pod-gc-threshold"),
    "3.1.1": left(API, "client-ca-file"),
    "4.2.7": all(words[words.index("--hostname-override") + 1] == ref("machine.name") for words in COMMANDS),
    "4.2.9": unset("tlsCertFile", "tlsPrivateKeyFile") and all(each["serverTLSBootstrap"] for each in KUBELETS),
    "4.2.12": unset("tlsCipherSuites", "tlsMinVersion"),
    "4.2.13": unset("podPidsLimit"),
    "4.2.14": unset("seccompDefault"),
}
NOT_APPLICABLE: dict[str, bool] = {"4.1.3": not written("kube-proxy"), "4.1.4": not written("kube-proxy")}
PLANNED = {"pass": PASS, "by hand": BY_HAND, "accepted": ACCEPTED, "not applicable": NOT_APPLICABLE}
"""Result on the page -> check of the benchmark -> whether the plans are as its row says."""


def test_the_page_has_each_check_of_the_list_once_with_a_reason_for_what_does_not_pass() -> None:
    assert [row.check for row in rows()] == CHECKS
    for row in ROWS.values():
        assert len(row.results) == (2 if row.check.startswith("4.") else 1), row
        assert row.reason or set(row.results) == {"pass"}, row


def test_each_row_agrees_with_the_plans() -> None:
    for result, checks in PLANNED.items():
        assert {check for check, row in ROWS.items() if set(row.results) == {result}} == set(checks), result
        assert [check for check, holds in checks.items() if not holds] == []


def test_the_page_counts_the_results_of_each_part() -> None:
    for part in "1234":
        counts = [str(sum(check.startswith(f"{part}.") for check in checks) or "-") for checks in PLANNED.values()]
        (line,) = re.findall(rf"(?m)^\| {part} [a-z ,]+ \| (.+) \|$", PAGE)
        assert line.split(" | ") == counts, part


def test_the_files_that_pass_are_those_that_booted_machines_are_asked_about() -> None:
    """flannel makes the files of the pod network. Machines are asked about 1.1.12 too: root has the folder, closed."""
    of_files = {check for check in CHECKS if check.startswith(("1.1.", "4.1."))}
    asked = {check for files in FILES for check in files.checks}
    assert asked == of_files - {"1.1.9", "1.1.10"} - set(NOT_APPLICABLE)


def test_the_kubelet_keeps_its_default_for_kernel_settings() -> None:
    """Lists of the benchmark before cis-1.12 ask about it."""
    assert unset("protectKernelDefaults")
