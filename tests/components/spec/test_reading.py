"""Reading a stack: all problems are reported together, with path and fix, and none twice."""

from datetime import date, datetime, timezone
from typing import Any

import pytest

from components import releases
from components.catalogue import artifacts
from components.spec.form import ROWS
from components.spec.models import ClusterSpec
from components.spec.report import Severity, SpecError
from components.stack_files.stack import CLUSTER, read_stack
from tests.components.spec.documents import (
    GOOD,
    REGION,
    REMOVED,
    Only,
    both,
    changed,
    gcp,
    kubelet,
    linux,
    net,
    plane,
    problems,
    reported,
    web,
)

_PATCHES = releases.in_order(artifacts.versions("kubernetes-node"))
NEWEST = _PATCHES[-1]
NEWEST_OF_136 = next(patch for patch in reversed(_PATCHES) if releases.minor(patch) == "1.36")
_MOMENT = datetime(2027, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
_TAINT = {"key": "os", "value": "windows", "effect": "NoSchedule"}

FORM_CASES: tuple[tuple[str, Any, str, str], ...] = (
    ("unknown-key", {"netwrk": {}}, "netwrk", "write network"),
    (
        "unknown-key",
        kubelet(sytem_reserved={}),
        "pools.web.kubelet.sytem_reserved",
        "write pools.web.kubelet.system_reserved",
    ),
    ("unknown-key", {"images": {"windows-209": "x"}}, "images.windows-209", "write windows-2019"),
    ("unknown-key", net(zzz=1), "network.zzz", "known here: mode, pods"),
    ("unknown-key", {"max_pods": 100}, "max_pods", "move it to pools.<name>.max_pods"),
    ("unknown-key", web(vni=1), "pools.web.vni", "move it to network.vni"),
    ("unknown-key", web(replicas=3), "pools.web.replicas", "write pools.web.count"),
    ("unknown-key", {"replicas": 3}, "replicas", "write control_plane.count or pools.<name>.count"),
    ("unknown-key", web(instanceType="x"), "pools.web.instanceType", "write pools.web.size"),
    ("unknown-key", plane(vm_size="x"), "control_plane.vm_size", "write control_plane.size"),
    ("unknown-key", {"version": "1.36.4"}, "version", "write kubernetes"),
    ("unknown-key", web(system_reserve={}), "pools.web.system_reserve", "write pools.web.kubelet.system_reserved"),
    ("unknown-key", web(kubelet={"maxPods": 9}), "pools.web.kubelet.maxPods", "write pools.web.max_pods"),
    ("unknown-key", {"region": "eu-west-1"}, "region", "write aws:region"),
    ("unknown-key", net(cni="calico"), "network.cni", "Mullion installs flannel; network.mode chooses"),
    ("unknown-key", {"images": {"windows-1803": "x"}}, "images.windows-1803", "known here: ubuntu-22.04"),
    ("unknown-key", web(containerd={"mirrors": {"A b": []}}), "pools.web.containerd.mirrors.A b", "registry.k8s.io"),
    ("missing-key", {"cloud": REMOVED}, "cloud", "one of aws, azure, gcp"),
    ("missing-key", web(os=REMOVED), "pools.web.os", "windows-2019"),
    ("value-unquoted", {"kubernetes": 1.32}, "kubernetes", f'in quotes: "{NEWEST}"'),
    ("value-unquoted", {"kubernetes": 1.36}, "kubernetes", f'in quotes: "{NEWEST_OF_136}"'),
    ("value-unquoted", web(labels={"tier": 1}), "pools.web.labels.tier", '"1"'),
    ("value-unquoted", {"expires": True}, "expires", '"true"'),
    ("value-unquoted", {"expires": date(2027, 1, 2)}, "expires", '"2027-01-02T00:00:00Z"'),
    ("value-unquoted", {"expires": _MOMENT}, "expires", '"2027-01-02T03:04:05Z"'),
    ("wrong-type", web(taints=[_TAINT]), "pools.web.taints.0", "write os=windows:NoSchedule"),
    ("wrong-type", web(taints=[{"effect": "x"}]), "pools.web.taints.0", "such as os=windows:NoSchedule"),
    ("wrong-type", web(count="three"), "pools.web.count", "a whole number"),
    ("wrong-type", web(count=1.5), "pools.web.count", "a whole number"),
    ("wrong-type", {"pools": 3}, "pools", "keys and values"),
    ("wrong-type", {"pools": {"web": None}}, "pools.web", "keys and values"),
    ("wrong-type", web(taints="os=windows:NoSchedule"), "pools.web.taints", "a list"),
    ("wrong-type", {"gmsa": "maybe"}, "gmsa", "true or false"),
    ("wrong-value", {"kubernetes": "1.32"}, "kubernetes", NEWEST),
    ("wrong-value", {"cloud": "asw"}, "cloud", "one of aws"),
    ("wrong-value", kubelet(system_reserved={"memory": "2GB"}), "pools.web.kubelet.system_reserved.memory", "2Gi"),
    ("wrong-value", web(disk_gb=19), "pools.web.disk_gb", "a whole number"),
    ("wrong-value", net(pods="10.0.0.0/33"), "network.pods", "10.20.0.0/16"),
    ("wrong-value", net(dns="10.0.0"), "network.dns", "10.96.0.10"),
    ("wrong-value", web(rollout={"drain": "10 min"}), "pools.web.rollout.drain", "90s, 10m"),
    ("wrong-type", net(outside=[10]), "network.outside.0", "10.20.0.0/16"),
    ("wrong-type", net(pods=True), "network.pods", "10.20.0.0/16"),
    ("wrong-type", net(dns=b"\x0a\x60\x00\x0a"), "network.dns", "10.96.0.10"),
    ("wrong-type", web(count=True), "pools.web.count", "a whole number"),
    ("host-bits", net(nodes="10.20.1.0/16"), "network.nodes", "write 10.20.0.0/16"),
    ("ipv6", net(services="fd00::/108"), "network.services", "IPv4"),
    ("ipv6", net(dns="fd00::10"), "network.dns", "IPv4"),
    ("secret-in-spec", {"owner": {"secure": "v1:abc"}}, "owner", "secret store"),
    ("secret-in-spec", {"pools": {"web": Only(secure="v1:abc")}}, "pools.web", "secret store"),
    ("key-unquoted", {"tags": {1: "x"}}, "tags.1", '"1"'),
    ("key-unquoted", web(labels={True: "x"}), "pools.web.labels.true", '"true"'),
)


@pytest.mark.parametrize(("id", "change", "path", "fix"), FORM_CASES, ids=lambda value: str(value)[:40])
def test_an_error_of_form_names_the_path_and_the_fix(id: str, change: Any, path: str, fix: str) -> None:
    all_problems = problems(changed(change))
    assert [(each.id, each.path) for each in all_problems] == [(id, path)], "exactly one problem"
    assert fix in all_problems[0].fix


def test_every_rule_of_form_about_the_spec_has_a_case() -> None:
    elsewhere = {"yaml-syntax", "duplicate-key", "unknown-config-key", "cluster-missing", "region-missing"}
    elsewhere |= {
        "region-form",
        "region-of-another-cloud",
        "project-missing",
        "cluster-name",
        "nested-too-deep",
        "yaml-too-large",
        "yaml-too-deep",
    }
    elsewhere |= {"artifact-file-unreadable", "artifact-file-relative"}
    assert {id for id, *_ in FORM_CASES} == {row.id for row in ROWS} - elsewhere


def test_all_problems_are_reported_together_errors_first() -> None:
    document = changed(
        both(
            {"kubernetes": 1.32, "netwrk": {}, "owner": " "},
            net(pods="10.20.1.0/16", vni=1),
            linux(count=-1, labels={"-x": "y"}),
            web(max_pods=300, kubelet={"system_reserved": {"memory": "1Gi"}, "priority_class": "NORMAL"}),
        )
    )
    with pytest.raises(SpecError) as failure:
        read_stack("aws_test", {**REGION, "mullion:clster": 1, CLUSTER: document})
    assert [(each.id, each.path) for each in failure.value.problems] == [
        ("unknown-config-key", "mullion:clster"),
        ("cluster-name", "stack name"),
        ("value-unquoted", "kubernetes"),
        ("host-bits", "network.pods"),
        ("wrong-value", "pools.linux.count"),
        ("wrong-value", "pools.web.kubelet.priority_class"),
        ("unknown-key", "netwrk"),
        ("max-pods-above-node-range", "pools.web.max_pods"),
        ("vni-out-of-range", "network.vni"),
        ("windows-memory-reserve", "pools.web.kubelet.system_reserved.memory"),
        ("label-key", "pools.linux.labels.-x"),
        ("owner-form", "owner"),
    ]
    text = str(failure.value)
    assert text.startswith("aws_test: 12 errors\n")
    for problem in failure.value.problems:
        assert all(part in text for part in (problem.id, problem.path, problem.wrong, problem.fix))


BROKEN: tuple[tuple[str, Any, set[tuple[str, str]]], ...] = (
    (
        "a pool with an invalid os gets no errors that depend on the os",
        web(os="windows-2016", runtime="docker", kubelet={"priority_class": "IDLE_PRIORITY_CLASS"}, disk_gb=25),
        {("wrong-value", "pools.web.os")},
    ),
    (
        "an invalid service range causes no error about the DNS address",
        net(services="10.300.0.0/12", dns="10.200.0.10"),
        {("wrong-value", "network.services")},
    ),
    (
        "an unreadable Linux pool causes no error about a missing Linux pool",
        {"pools": Only(web=GOOD["pools"]["web"], linux=7)},
        {("wrong-type", "pools.linux")},
    ),
    (
        "an invalid size is not looked up",
        web(size=5, kubelet={"kube_reserved": {"memory": "300Gi"}}),
        {("value-unquoted", "pools.web.size")},
    ),
    (
        "an invalid pool does not hide errors of another pool",
        both(linux(os="ubuntu"), web(max_pods=253, size="m7g.large")),
        {
            ("wrong-value", "pools.linux.os"),
            ("max-pods-above-node-range", "pools.web.max_pods"),
            ("size-arm64", "pools.web.size"),
        },
    ),
    (
        "an invalid range in a list silences only the checks of that list",
        net(outside=["x", "10.244.0.0/16"], pods="11.0.0.0/16"),
        {("wrong-value", "network.outside.0"), ("range-not-private", "network.pods")},
    ),
    (
        "a service range too small for a DNS address is reported once",
        net(services="10.96.0.0/30"),
        {("services-too-small", "network.services")},
    ),
    (
        "an option that is not built is refused even if it is incomplete",
        net(existing={"subnets": []}),
        {("missing-key", "network.existing.network"), ("not-built-existing-network", "network.existing")},
    ),
    (
        "a pool's name is checked even if its options are invalid",
        {"pools": {"Win": {"os": "windows"}}},
        {("wrong-value", "pools.Win.os"), ("pool-name-form", "pools.Win")},
    ),
    (
        "several invalid items of a list are each reported",
        {"api": {"access": "public", "allow": ["x", "203.0.113.0/24", "y"]}},
        {("wrong-value", "api.allow.0"), ("wrong-value", "api.allow.2")},
    ),
)


@pytest.mark.parametrize(("meaning", "change", "expected"), BROKEN, ids=[meaning for meaning, *_ in BROKEN])
def test_a_broken_part_causes_no_further_errors(meaning: str, change: Any, expected: Any) -> None:
    assert reported(changed(change)) == expected, meaning


def test_a_stack_needs_a_cluster_and_a_region() -> None:
    assert [each.id for each in problems(None)] == ["cluster-missing"]
    assert [each.id for each in problems("aws")] == ["wrong-type"]
    all_problems = problems(GOOD, config={})
    assert [(each.id, each.path) for each in all_problems] == [("region-missing", "aws:region")]
    assert [each.id for each in problems(GOOD, config={"aws:region": "Ireland"})] == ["region-form"]


def test_a_region_of_another_cloud_is_refused_with_the_name_of_that_cloud() -> None:
    [problem] = problems(GOOD, config={"aws:region": "europe-west1"})
    assert problem.id == "region-of-another-cloud"
    assert problem.wrong == "'europe-west1' is a region of gcp, but the cluster is on aws"


def test_an_unknown_region_gives_a_warning_with_the_nearest_names() -> None:
    [problem] = problems(changed(gcp()), config={**REGION, "gcp:region": "europe-west99"})
    assert (problem.id, problem.path, problem.severity) == ("region-unknown", "gcp:region", Severity.WARNING)
    assert "write europe-west9 or " in problem.fix


def test_a_stack_on_gcp_needs_a_project_unless_a_program_reads_it() -> None:
    config = {key: value for key, value in REGION.items() if key != "gcp:project"}
    [problem] = problems(changed(gcp()), config=config)
    assert (problem.id, problem.path) == ("project-missing", "gcp:project")
    assert "write gcp:project:" in problem.fix
    assert read_stack("a", {CLUSTER: changed(gcp())}, region_needed=False).region == ""


def test_the_error_for_an_unsupported_operating_system_lists_the_supported_ones() -> None:
    [problem] = problems(changed(web(os="windows-1803")))
    assert "did you mean" not in problem.wrong
    assert "windows-2019, windows-2022, windows-2025" in problem.fix


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"owner": None, "tags": {"a": None}}, "an empty value"),
        (web(labels={"a": True}), "YAML reads true as a truth value"),
        (web(labels={"a": {"b": None, "c": [True, 1.5]}}), "{b: null, c: [true, 1.5]}"),
        (web(labels={"a": date(2026, 1, 2)}), "2026-01-02"),
        ({"tags": {None: "x"}}, "YAML reads the key null"),
        ({"tags": {date(2026, 1, 2): "x"}}, "YAML reads the key 2026-01-02"),
        (kubelet(config={"maxPods": date(2026, 1, 2)}), "2026-01-02"),
        (web(size="it's"), '"it\'s"'),
    ],
)
def test_messages_show_values_as_yaml_not_as_python(change: Any, text: str) -> None:
    texts = " ".join(problem.wrong + problem.path for problem in problems(changed(change)))
    assert text in texts or text.replace('"', "") in texts
    assert not any(python in texts for python in ("None", "True", "datetime", "{'"))


def test_the_example_version_of_the_schema_is_the_newest() -> None:
    assert f'e.g. "{NEWEST}"' in str(ClusterSpec.model_fields["kubernetes"].description)


def test_zones_are_not_checked_without_a_region() -> None:
    document = changed(net(zone_names=["eu-west-1a", "eu-west-1b", "eu-west-1c"]))
    assert [each.id for each in problems(document, config={})] == ["region-missing"]


@pytest.mark.parametrize("name", ["a", "aws-dev", "a" * 26, "ci-4711"])
def test_cluster_names_that_are_valid_in_dns_and_bucket_names_pass(name: str) -> None:
    assert problems(GOOD, name=name) == ()


@pytest.mark.parametrize("name", ["", "Aws", "1a", "a_b", "a-", "a" * 27, "a.b", "a\n"])
def test_invalid_cluster_names_are_refused(name: str) -> None:
    assert [each.id for each in problems(GOOD, name=name)] == ["cluster-name"]


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    assert reported(changed(kubelet(config=endless))) == {("nested-too-deep", "pools.web.kubelet.config")}


def test_an_encrypted_value_is_never_shown() -> None:
    with pytest.raises(SpecError) as failure:
        read_stack("a", {**REGION, CLUSTER: changed({"owner": {"secure": "v1:cipher"}})})
    assert "cipher" not in str(failure.value)


def test_python_values_of_a_program_are_read_like_the_text_of_a_file() -> None:
    from ipaddress import IPv4Network

    from components.spec.models import Cloud, OperatingSystem

    written = changed(
        {"cloud": Cloud.AWS, **web(os=OperatingSystem.WINDOWS_2022), **net(pods=IPv4Network("10.244.0.0/16"))}
    )
    assert read_stack("a", {**REGION, CLUSTER: written}).spec == read_stack("a", {**REGION, CLUSTER: GOOD}).spec


def test_reading_does_not_change_the_document() -> None:
    document = changed({"netwrk": 1, "kubernetes": 1.32})
    before = repr(document)
    problems(document)
    assert repr(document) == before
