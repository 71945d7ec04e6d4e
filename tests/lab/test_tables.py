"""The tables of releases compared with the programs: flags, fields and feature gates of each version."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from components import releases
from tests.lab.real import Real
from tests.lab.rendered import of_fields

pytestmark = pytest.mark.lab

KINDS = {
    "kubelet": ("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"),
    "kube-proxy": ("kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration"),
}

CGROUP_V1 = "failCgroupV1"
"""Field for hosts with cgroup v1, which kubelets from 1.35 on refuse first."""


OF_WINDOWS = re.compile("[Ww]in(?!g)")
"""Name parts of Windows gates and fields."""


def on_any_machine(kubernetes: str, real: Real) -> Mapping[str, Any]:
    """Return the field that the host may need."""
    takes = real.name == "kubelet" and CGROUP_V1 in releases.fields("kubelet", kubernetes)
    return {CGROUP_V1: False} if takes else {}


def document(kubernetes: str, real: Real, **fields: Any) -> dict[str, Any]:
    """Return a configuration with exactly these fields."""
    version, kind = KINDS[real.name]
    return {"apiVersion": version, "kind": kind, **on_any_machine(kubernetes, real), **fields}


def every(kind: str, program: str, minors: Iterable[str]) -> frozenset[str]:
    """Return names of fields or gates that any of the minors knows."""
    lookup = {"fields": releases.fields, "gates": releases.gates}[kind]
    return frozenset[str]().union(*(lookup(program, each) for each in minors))


def neighbours(kubernetes: str) -> tuple[str, ...]:
    """Return the neighbouring minors, between which a table adds or removes a name."""
    minors = releases.supported_minors()
    index = minors.index(releases.minor(kubernetes))
    return minors[max(0, index - 1) : index + 2]


def test_srv_09_every_flag_of_the_table_is_accepted_and_every_removed_one_is_refused(
    kubernetes: str, real: Real
) -> None:
    table = releases.flags(real.name, kubernetes, real.os)
    hidden = table - real.known_flags()
    assert real.refused(hidden) == frozenset(), "the table has flags that the program does not know"
    gone = releases.removed_flags(real.name, kubernetes, real.os)
    assert real.refused(gone) == gone, "the program knows flags that the table says are gone"


def test_every_field_of_the_table_is_accepted_with_its_type(kubernetes: str, real: Real) -> None:
    fields = releases.fields(real.name, kubernetes)
    judgement = real.read(of_fields(*KINDS[real.name], fields))
    assert (judgement.unknown(), judgement.wrong_types()) == (set(), []), judgement.text[-2000:]


def test_every_field_missing_in_the_table_is_refused(kubernetes: str, real: Real) -> None:
    table = releases.fields(real.name, kubernetes)
    absent = {
        field
        for field in every("fields", real.name, releases.supported_minors()) - table.keys()
        if field.rpartition(".")[0] in ("", *table)
    }
    judgement = real.read(of_fields(*KINDS[real.name], dict.fromkeys(absent, "bool")))
    if not judgement.first_unknown():
        assert judgement.unknown() == absent
        return
    # one start per field, which takes seconds on a Windows machine; both systems have the same fields
    for each in absent if real.os == "linux" else filter(OF_WINDOWS.search, absent):
        judgement = real.read(of_fields(*KINDS[real.name], {each: "bool"}))
        assert judgement.first_unknown() == {each.rpartition(".")[2]}


def test_every_gate_of_the_table_is_accepted_and_no_other(kubernetes: str, real: Real) -> None:
    table, locked = releases.gates(real.name, kubernetes), releases.locked_gates(kubernetes)
    gates = {each: locked.get(each, True) for each in table}
    judgement = real.read(document(kubernetes, real, featureGates=gates))
    assert not re.findall(r"unrecognized feature gate.*|cannot set feature gate.*", judgement.text)
    absent = sorted(every("gates", real.name, neighbours(kubernetes)) - table)
    # a start takes seconds on a Windows machine, and both systems share most gates: there only the Windows gates
    for each in absent if real.os == "linux" else filter(OF_WINDOWS.match, absent):
        judgement = real.read(document(kubernetes, real, featureGates={each: True}))
        assert re.search(rf"unrecognized feature gate: {each}\b", judgement.text), f"{each}: {judgement.text[-500:]}"
