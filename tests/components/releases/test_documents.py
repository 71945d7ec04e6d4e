"""Fields, flags and feature gates are known in exactly the minors that have them."""

import pytest

from components import releases
from components.releases import documents, spans

MINORS = releases.supported_minors()


def _minors(table: object) -> list[str]:
    """Return the minors for which `table` returns a true value."""
    return [minor for minor in MINORS if table(minor)]  # type: ignore[operator]


def _from(first: str) -> list[str]:
    return list(MINORS[MINORS.index(first) :])


def _until(last: str) -> list[str]:
    return list(MINORS[: MINORS.index(last) + 1])


@pytest.mark.parametrize(
    ("document", "field", "minors"),
    [
        ("kubelet", "registerWithTaints", _from("1.23")),
        ("kubelet", "containerRuntimeEndpoint", _from("1.27")),
        ("kubelet", "singleProcessOOMKill", _from("1.32")),
        ("kubelet", "userNamespaces", _from("1.33")),
        ("kubelet", "tlsCurvePreferences", _from("1.36")),
        ("kubelet", "defaultPodSysctls", _from("1.37")),
        ("kubelet", "logging.sanitization", _until("1.23")),
        ("kube-proxy", "udpIdleTimeout", _until("1.25")),
        ("kube-proxy", "windowsRunAsService", _from("1.31")),
        ("ClusterConfiguration", "useHyperKubeImage", _until("1.21")),
        ("InitConfiguration", "patches.directory", _from("1.22")),
        ("InitConfiguration", "timeouts", _from("1.31")),
    ],
)
def test_a_field_is_known_in_the_minors_that_have_it(document: str, field: str, minors: list[str]) -> None:
    assert _minors(lambda minor: field in releases.fields(document, minor)) == minors


def test_kubeadms_extra_arguments_are_a_map_before_v1beta4_and_a_list_since() -> None:
    kinds = {minor: releases.fields("ClusterConfiguration", minor)["apiServer.extraArgs"] for minor in MINORS}
    assert {minor for minor, kind in kinds.items() if kind == "text-map"} == set(_until("1.30"))
    assert {minor for minor, kind in kinds.items() if kind == "list"} == set(_from("1.31"))
    apis = {releases.release(minor).kubeadm_api: kinds[minor] for minor in MINORS}
    assert apis == {
        "kubeadm.k8s.io/v1beta2": "text-map",
        "kubeadm.k8s.io/v1beta3": "text-map",
        "kubeadm.k8s.io/v1beta4": "list",
    }


@pytest.mark.parametrize(
    ("flag", "system", "minors"),
    [
        ("network-plugin", "windows", _until("1.23")),
        ("docker-endpoint", "windows", _until("1.23")),
        ("log-dir", "windows", _until("1.25")),
        ("container-runtime", "linux", _until("1.26")),
        ("keep-terminated-pod-volumes", "linux", _until("1.30")),
        ("cloud-config", "linux", _until("1.33")),
        ("pod-infra-container-image", "windows", _until("1.34")),
        ("config-dir", "linux", _from("1.28")),
        ("register-with-taints", "windows", list(MINORS)),
        ("windows-priorityclass", "linux", []),
    ],
)
def test_srv_09_a_kubelet_flag_is_known_in_the_minors_that_have_it(flag: str, system: str, minors: list[str]) -> None:
    assert _minors(lambda minor: flag in releases.flags("kubelet", minor, system)) == minors


@pytest.mark.parametrize(
    ("flag", "minors"),
    [
        ("profiling", list(MINORS)),
        ("audit-log-path", list(MINORS)),
        ("encryption-provider-config", list(MINORS)),
        ("node-cidr-mask-size", list(MINORS)),
        ("feature-gates", list(MINORS)),
        ("experimental-encryption-provider-config", _until("1.23")),
        ("service-account-api-audiences", _until("1.24")),
        ("enable-taint-manager", _until("1.26")),
        ("authentication-config", _from("1.29")),
        ("emulated-version", _from("1.31")),
        ("insecure-prot", []),
    ],
)
def test_a_flag_of_the_control_plane_is_known_in_the_minors_that_have_it(flag: str, minors: list[str]) -> None:
    assert _minors(lambda minor: flag in releases.control_plane_flags(minor)) == minors


def test_srv_09_removed_flags_are_those_that_an_older_minor_had() -> None:
    assert releases.removed_flags("kubelet", "1.20.15", "linux") == frozenset()
    newest = releases.removed_flags("kubelet", "1.37.0", "windows")
    assert {"network-plugin", "container-runtime", "pod-infra-container-image", "log-dir"} <= newest
    assert not newest & releases.flags("kubelet", "1.37.0", "windows")


@pytest.mark.parametrize(
    ("gate", "minors"),
    [
        ("WinOverlay", list(MINORS)),
        ("WinDSR", list(MINORS)),
        ("HyperVContainer", _until("1.20")),
        ("IPv6DualStack", _until("1.24")),
        ("WindowsHostProcessContainers", ["1.22", "1.23", "1.24", "1.25", "1.26", "1.27"]),
        ("NodeLogQuery", _from("1.27")),
        ("WindowsGracefulNodeShutdown", _from("1.32")),
    ],
)
def test_a_feature_gate_is_known_in_the_minors_that_have_it(gate: str, minors: list[str]) -> None:
    assert _minors(lambda minor: gate in releases.gates("kubelet", minor)) == minors


def test_a_feature_gate_added_by_a_patch_is_unknown_to_earlier_patches() -> None:
    patches = ("1.29.15", "1.30.10", "1.31.4", "1.31.7", "1.31.14", "1.32.2", "1.32.3", "1.33.0")
    having = [each for each in patches if "OrderedNamespaceDeletion" in releases.gates("kubelet", each)]
    assert having == ["1.31.7", "1.31.14", "1.32.3", "1.33.0"]


def test_a_locked_feature_gate_stays_locked_until_it_is_removed() -> None:
    assert _minors(lambda minor: releases.locked_gates(minor).get("WinDSR")) == _from("1.34")
    assert _minors(lambda minor: releases.locked_gates(minor).get("WindowsHostProcessContainers")) == ["1.26", "1.27"]
    for minor in MINORS:
        assert set(releases.locked_gates(minor)) <= releases.gates("kubelet", minor)


@pytest.mark.parametrize("minor", MINORS)
def test_the_row_of_a_minor_agrees_with_the_tables_of_fields_flags_and_gates(minor: str) -> None:
    row, kubelet = releases.release(minor), releases.flags("kubelet", minor, "windows")
    missing = {"containerRuntimeEndpoint", "registerWithTaints"} - releases.top_fields("kubelet", minor)
    assert missing <= set(row.flagged) <= missing | {"resolvConf"}
    assert row.dockershim == ("network-plugin" in kubelet)
    assert not row.infra_image or "pod-infra-container-image" in kubelet
    assert row.log_runner != "missing" or {"log-file", "log-file-max-size", "logtostderr"} <= kubelet
    assert set(row.dsr_gates) <= releases.gates("kube-proxy", minor) - set(releases.locked_gates(minor))


@pytest.mark.parametrize("document", documents.FIELDS)
def test_no_minor_has_two_kinds_for_one_field(document: str) -> None:
    for minor in MINORS:
        names = [name for span in documents.FIELDS[document] if span.covers(minor) for name in span.names]
        assert len(names) == len(set(names))


def test_indented_lines_of_a_table_continue_the_row() -> None:
    read = spans.spans("bool -: a b\n  c\ntext 1.22-1.25: d\n1.30-: e")
    assert [(each.kind, each.first, each.last, each.names) for each in read] == [
        ("bool", "", "", ("a", "b", "c")),
        ("text", "1.22", "1.25", ("d",)),
        ("", "1.30", "", ("e",)),
    ]
    assert spans.known(read, "1.25") == {"a": "bool", "b": "bool", "c": "bool", "d": "text"}
