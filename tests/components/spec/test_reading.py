"""Reading a stack: all problems are reported together, with path and fix, and none twice."""

from datetime import date
from typing import Any

import pytest

from components import releases
from components.catalogue import artifacts
from components.spec.descriptions import descriptions
from components.spec.models import ClusterSpec
from components.spec.report import Severity, SpecError
from components.stack_files.stack import CLUSTER, read_stack, refuse_unready
from tests.components.spec.documents import (
    GOOD,
    REGION,
    Only,
    azure,
    both,
    changed,
    gcp,
    kubelet,
    linux,
    net,
    problems,
    reported,
    web,
)

_PATCHES = releases.in_order(artifacts.versions("kubernetes-node"))
NEWEST = _PATCHES[-1]


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
        "no check judges an incomplete existing network",
        net(existing={"subnets": [], "public_subnets": ["edge"]}),
        {("missing-key", "network.existing.network")},
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


def test_an_unknown_region_stops_up_until_it_is_acknowledged() -> None:
    config = {**REGION, "gcp:region": "europe-west99"}
    with pytest.raises(SpecError, match="not in the table of the regions of gcp"):
        refuse_unready(read_stack("a", {**config, CLUSTER: changed(gcp())}))
    opened = {"acknowledge": {"region-unknown": "Google opened it in December"}}
    refuse_unready(read_stack("a", {**config, CLUSTER: changed({**gcp(), **opened})}))


def test_an_azure_region_without_zones_stops_up_until_it_is_acknowledged() -> None:
    config = {**REGION, "azure-native:location": "westus"}
    with pytest.raises(SpecError, match="'westus' has no availability zones"):
        refuse_unready(read_stack("a", {**config, CLUSTER: changed(azure())}))
    opened = {"acknowledge": {"region-without-zones": "Azure opened its zones in December"}}
    refuse_unready(read_stack("a", {**config, CLUSTER: changed({**azure(), **opened})}))


def test_the_project_of_the_examples_gives_a_warning() -> None:
    [problem] = problems(changed(gcp()), config={**REGION, "gcp:project": "example-project"})
    assert (problem.id, problem.path, problem.severity) == ("project-example", "gcp:project", Severity.WARNING)


@pytest.mark.parametrize("region", ["eusc-de-east-1", "us-gov-west-1", "cn-north-1"])
def test_regions_of_other_partitions_have_the_form_of_a_region(region: str) -> None:
    assert "region-form" not in [each.id for each in problems(GOOD, config={"aws:region": region})]


@pytest.mark.parametrize("number", [123456789012, "123456789012"])
def test_the_number_of_a_project_is_refused(number: int | str) -> None:
    """Identity tokens of instances name the project's id, with which control planes compare facts of the stack."""
    [problem] = problems(changed(gcp()), config={**REGION, "gcp:project": number})
    assert (problem.id, problem.path, problem.severity) == ("project-number", "gcp:project", Severity.ERROR)
    assert "gcloud projects describe 123456789012" in problem.fix


@pytest.mark.parametrize("name", ["googly", "my-google-app"])
def test_a_name_that_google_refuses_for_buckets_is_an_error_on_gcp_only(name: str) -> None:
    [problem] = problems(changed(gcp()), name)
    assert (problem.id, problem.path) == ("cluster-name-on-gcp", "stack name")
    assert problems(changed({}), name) == ()


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
    assert f'e.g. "{NEWEST}"' in descriptions(ClusterSpec)["kubernetes"]


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
