"""Each check reports its problem at the right path, and accepts the nearest valid value."""

import re

import pytest

from components import releases
from components.catalogue import instance_sizes, node_reserves
from components.checks import CHECKS, TABLES, TO_ACKNOWLEDGE, UNREADY, addresses, reserves
from components.checks.check import Check, Subject
from components.naming import CONTROL_PLANE
from components.spec.form import ROWS
from components.spec.report import Severity
from components.stack_files.stack import CLUSTER, read_stack
from tests.components.checks.cases import CASES
from tests.components.spec.documents import GOOD, REGION, Case, changed, problems, reported

DECIDABLE = frozenset(
    {
        "IPP-01",
        "IPP-02",
        "IPP-03",
        "IPP-04",
        "IPP-05",
        "IPP-06",
        "NET-01",
        "NET-02",
        "NET-03",
        "NET-04",
        "NET-05",
        "NET-06",
        "NET-08",
        "NET-11",
        "FLN-02",
        "SCH-01",
        "SCH-02",
        "SCH-04",
        "SCH-05",
        "SCH-09",
        "RES-01",
        "RES-02",
        "RES-03",
        "RES-04",
        "RES-05",
        "RES-06",
        "SRV-10",
        "SRV-12",
        "SRV-13",
        "CP-01",
        "OS-01",
        "OS-02",
        "OS-03",
        "OS-04",
        "RUN-01",
        "RUN-02",
        "RUN-03",
        "RUN-06",
        "RUN-08",
        "SEC-06",
        "SVC-03",
        "SVC-07",
    }
)
"""Requirements that can be checked by reading a spec alone."""

BY_ID = {row.id: row for row in CHECKS}


def _title(case: Case) -> str:
    """Return requirements, check and path of a case, as its test id."""
    return "-".join([*BY_ID[case.id].requirements, case.id, case.path]) if case.id in BY_ID else case.id


def test_the_sample_document_has_no_problem() -> None:
    assert problems(GOOD) == ()


@pytest.mark.parametrize("case", CASES, ids=lambda case: _title(case))
def test_a_check_reports_its_case_at_the_path_and_accepts_the_nearest_valid_value(case: Case) -> None:
    all_problems = problems(changed(case.trips), case.name, config={**REGION, **case.config})
    matching = [each for each in all_problems if (each.id, each.path) == (case.id, case.path)]
    assert matching, f"not found among {[(each.id, each.path) for each in all_problems]}"
    assert matching[0].severity is BY_ID[case.id].severity
    assert case.id not in {id for id, _ in reported(changed(case.passes))}, (
        "the nearest valid value must pass this check"
    )


def test_every_check_has_a_case() -> None:
    assert {case.id for case in CASES} == set(BY_ID)


def test_a_warning_that_stops_up_says_so() -> None:
    warnings = [row for row in CHECKS if row.severity is Severity.WARNING]
    assert {row.id for row in warnings if "`up` stops unless this is acknowledged" in row.wrong} == TO_ACKNOWLEDGE
    assert {row.id for row in warnings if "`up` refuses" in row.wrong} == UNREADY


def test_there_are_at_least_eighty_checks_and_their_ids_are_short_unique_slugs() -> None:
    ids = [row.id for row in (*CHECKS, *ROWS)]
    assert len(CHECKS) >= 80
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", each) and len(each) <= 40 for each in ids)


@pytest.mark.parametrize("row", CHECKS, ids=lambda row: row.id)
def test_the_paths_that_a_check_reads_exist(row: Check) -> None:
    from components.stack_files.validation_errors import annotation_at

    assert row.reads, "else the check would run on options that could not be read"
    for read in row.reads:
        if read == "region":
            continue
        parts = ("control_plane", "pools.web") if read.startswith("<machines>") else ("",)
        paths = [
            read.replace("<machines>", part).replace("<pool>", "web").replace("*", "web").removesuffix(".<key>")
            for part in parts
        ]
        assert any(annotation_at(tuple(path.split("."))) is not None for path in paths), read


def test_every_requirement_about_the_spec_has_a_check() -> None:
    covered = {need for row in (*CHECKS, *ROWS) for need in row.requirements}
    assert DECIDABLE - covered == set()


def test_errors_contain_the_written_values() -> None:
    """IPP-02, IPP-03: the error shows the numbers of both formulas."""
    from tests.components.spec.documents import linux

    wrong = {each.id: each.wrong for each in problems(changed(linux(count=249)))}["pods-too-few-node-ranges"]
    assert all(figure in wrong for figure in ("257 nodes", str(257 * 256), str(257 * 111), "65536")), wrong


def test_the_hint_for_an_old_kubernetes_names_a_version_with_support() -> None:
    fixes = {each.id: each.fix for each in problems(changed({"kubernetes": "1.19.16"}))}
    named = fixes["kubernetes-too-old"].split()[1]
    assert not releases.ended(releases.release(named).end_of_life), named


def test_five_nodes_with_a_hundred_pods_need_505_addresses() -> None:
    """IPP-03: the example of the guide."""
    assert addresses.pod_addresses([(5, 100)]) == 505


@pytest.mark.parametrize(("vcpu", "milli"), [(2, 500), (4, 500), (8, 800), (32, 3200)])
def test_windows_reserves_the_larger_of_half_a_core_and_a_tenth_of_the_cores(vcpu: int, milli: int) -> None:
    """RES-02."""
    assert reserves.windows_cpu_milli(vcpu) == milli


def test_allocatable_is_capacity_without_reserves_and_hard_eviction() -> None:
    """RES-06."""
    subject = Subject("a", "eu-west-1", read_stack("a", {**REGION, CLUSTER: GOOD}).spec)
    web = next(group for group in subject.workers if group.name == "web")
    size = instance_sizes.size("m6i.xlarge")
    assert size
    assert reserves.allocatable_memory(web, size) == 14 * 2**30 - 500 * 2**20
    assert reserves.allocatable_cpu_milli(web, size) == 3500
    linux = next(group for group in subject.workers if group.name == "linux")
    # 4 vCPU and 16 GiB with 110 pods: EKS reserves 80m and 1465 MiB
    assert reserves.allocatable_cpu_milli(linux, size) == 3920
    assert reserves.allocatable_memory(linux, size) == 16 * 2**30 - (1465 + 100) * 2**20


@pytest.mark.parametrize(
    ("size", "pods", "reserved"),
    [
        ("m6i.large", 110, {"cpu": "70m", "memory": "1465Mi"}),  # EKS: 2 vCPU, 8 GiB
        ("m5.xlarge", 58, {"cpu": "80m", "memory": "893Mi"}),  # EKS (nodeadm's documentation): 4 vCPU, 16 GiB
        ("m6i.4xlarge", 110, {"cpu": "110m", "memory": "1465Mi"}),
        ("t3.medium", 110, {"cpu": "70m", "memory": "1024Mi"}),  # GKE: a quarter of 4 GiB
    ],
)
def test_linux_reserves_as_managed_clusters_do(size: str, pods: int, reserved: dict[str, str]) -> None:
    assert node_reserves.kube_reserved(instance_sizes.size(size), pods, linux_pool=True) == reserved


def test_a_check_refuses_a_pool_named_control_plane() -> None:
    assert f"pool-named-{CONTROL_PLANE}" in BY_ID


def test_no_check_is_in_two_tables() -> None:
    assert sum(len(rows) for rows in TABLES.values()) == len(CHECKS)


def test_only_warnings_can_be_acknowledged_and_they_carry_the_reason() -> None:
    document = changed({"expires": "10m", "acknowledge": {"expires-soon": "a smoke test"}})
    [warning] = problems(document)
    assert (warning.id, warning.severity, warning.acknowledged) == ("expires-soon", Severity.WARNING, "a smoke test")
