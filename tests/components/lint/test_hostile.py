"""Manifests of any shape and of large numbers end in a verdict, and the work grows with their size, not its square."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from components.lint import Context, Level, examples
from components.lint.conditions import Condition
from components.lint.documents import Manifests, Object
from components.lint.judge import Finding, lint
from components.lint.targets import WINDOWS
from operations.manifests.shown import FORMATS, as_json, as_text

HUGE = 16**5000
"""An integer that Python does not print: it has more than 4300 digits."""
CLUSTER = "{pools: {linux: {os: ubuntu-24.04}, web: {os: windows-2022}}}"
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
TREES = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
)
VOLUME = "{name: a, persistentVolumeClaim: {claimName: data}, emptyDir: {medium: Memory}, hostPath: {path: a}}"
CONTAINER = (
    "{name: a, image: 'windows/a:1', args: [/bin/a], ports: [{hostPort: 1}], env: [{name: a, value: a}], "
    "securityContext: {privileged: true, windowsOptions: {runAsUserName: a}}, "
    "volumeMounts: [{name: a, mountPath: a, subPath: a}], resources: {limits: {memory: 1Gi}, requests: {memory: 1Gi}}}"
)
TERM = "{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [windows]}]}"
SPEC = (
    f"{{nodeSelector: {{kubernetes.io/os: windows}}, containers: [{CONTAINER}], volumes: [{VOLUME}], "
    f"tolerations: [{{key: os, operator: Exists, effect: NoSchedule}}], securityContext: {{fsGroup: 1}}, "
    f"affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{TERM}]}}}}}}}}"
)
METADATA = "metadata: {name: data, namespace: a, labels: {app: web}, annotations: {mullion.dev/lint-ignore: a}}"
WHOLE = f"""
- {{kind: Pod, {METADATA}, spec: {SPEC}}}
- kind: StatefulSet
  {METADATA}
  spec:
    replicas: 3
    volumeClaimTemplates: [{{spec: {{volumeMode: Block, storageClassName: data}}}}]
    template: {{metadata: {{labels: {{app: web}}}}, spec: {SPEC}}}
- {{kind: Service, {METADATA}, spec: {{selector: {{app: web}}, sessionAffinity: ClientIP}}}}
- {{kind: HorizontalPodAutoscaler, {METADATA}, spec: {{maxReplicas: 9, scaleTargetRef: {{kind: Pod, name: data}}}}}}
- {{kind: PersistentVolumeClaim, {METADATA}, spec: {{storageClassName: data, volumeName: data, volumeMode: Block}}}}
- {{kind: PersistentVolume, {METADATA}, spec: {{csi: {{driver: nfs}}, nfs: {{path: a}}}}}}
- {{kind: StorageClass, {METADATA}, provisioner: nfs, allowVolumeExpansion: true}}
- {{kind: RuntimeClass, {METADATA}, handler: runhcs-wcow-hypervisor}}
"""
"""Objects with the fields that the rules read."""


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all fields and items."""
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in rows:
        yield (*at, key)
        yield from places(inner, (*at, key))


WEB = yaml.safe_load(WHOLE)
PLACES = [place for place in places(WEB) if len(place) > 1]
CONTEXT = examples.of_cluster(CLUSTER)


def judge_with(place: tuple[Any, ...], value: Any) -> None:
    """Judge and print the objects with a value in place of a field."""
    data = deepcopy(WEB)
    parent = data
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    verdict = lint(Manifests(tuple(Object(each) for each in data)), CONTEXT)
    as_text(verdict, len(data))
    as_json(verdict, len(data))


@settings(max_examples=60)
@given(st.sampled_from(PLACES), TREES)
def test_any_value_in_place_of_any_field_ends_in_a_verdict(place: tuple[Any, ...], value: Any) -> None:
    judge_with(place, value)


@pytest.mark.parametrize("value", [{}, [{}], "text", HUGE], ids=["map", "list", "text", "huge"])
def test_wrong_types_in_place_of_every_field_end_in_a_verdict(value: Any) -> None:
    for place in PLACES:
        if "template" not in place:  # the Pod has the same fields
            judge_with(place, value)


@pytest.fixture
def judgements(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that gets each pod of which the rules ask whether it is a Windows pod."""
    asked: list[Any] = []
    holds = Condition.holds

    def counted(condition: Condition, value: Any) -> bool:
        if condition is WINDOWS:
            asked.append(value)
        return holds(condition, value)

    monkeypatch.setattr(Condition, "holds", counted)
    return asked


def test_services_and_claims_ask_a_few_times_about_each_pod(judgements: list[Any]) -> None:
    pods = [
        f"{{kind: Pod, name: p{n}, labels: {{app: a{n}}}, "
        f"volumes: [{{name: a, persistentVolumeClaim: {{claimName: c{n}}}}}]}}"
        for n in range(30)
    ]
    others = [
        f"{{kind: Service, selector: {{app: a{n}}}, sessionAffinity: ClientIP}}, "
        f"{{kind: PersistentVolumeClaim, name: c{n}, spec: {{volumeMode: Block}}}}"
        for n in range(30)
    ]
    verdict = lint(examples.manifests(f"[{', '.join(pods + others)}]"), Context())
    assert [each.rule.id for each in verdict.findings].count("session-affinity") == 30
    assert [each.rule.id for each in verdict.findings].count("block-claim") == 30
    assert len(judgements) <= 3 * len(pods)


def test_findings_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[Any] = []

    def equal(one: object, other: object) -> bool:
        compared.append(one)
        return one is other

    monkeypatch.setattr(Finding, "__eq__", equal)
    containers = ", ".join(["{name: a, image: a, securityContext: {privileged: true}}"] * 50)
    verdict = lint(examples.manifests(f"{{containers: [{containers}]}}"), Context(), ["image-without-tag"])
    assert len(verdict.ignored) == 50
    assert sum(each.rule.level is Level.ERROR for each in verdict.findings) == 50
    for shown in FORMATS.values():
        shown(verdict, 1)
    assert compared == []
