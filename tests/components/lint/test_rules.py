"""Every rule accepts its accepted example and finds its refused one, and no other rule complains about either."""

from typing import Any

import pytest
import yaml

from components.lint import RULES, Context, Level, by_id, examples
from components.lint.documents import Manifests, Object
from components.lint.judge import lint
from components.lint.rule import Rule
from tools.requirements_page import requirements

WINDOWS_2022 = "{pools: {linux: {os: ubuntu-24.04}, web: {os: windows-2022}}}"
DOCKER = "{pools: {web: {os: windows-2022, runtime: docker}}}"
GOOD = "name: a, image: 'a:1', resources: {limits: {memory: 1Mi}}"
DAEMONS = "kind: DaemonSet, nodeSelector: null"
REQUIRED = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [%s]}}}"


AZURE_DISK = "{volumes: [{name: a, azureDisk: {diskName: a, diskURI: b}}]}"
OLD = "{kubernetes: 1.22.17, pools: {web: {os: windows-2019}}}"
ROUTED = "{network: {mode: l2bridge}, pools: {web: {os: windows-2022}}}"


def term(operator: str) -> str:
    return f"{{matchExpressions: [{{key: kubernetes.io/os, operator: {operator}, values: [windows]}}]}}"


def azure(kubernetes: str) -> str:
    return f"{{cloud: azure, kubernetes: {kubernetes}, pools: {{web: {{os: windows-2022}}}}}}"


def image(tag: str, runtime_class: str = "null", name: str = "mcr.microsoft.com/windows/nanoserver") -> str:
    """Return a pod with an image of a tag; by default Microsoft's base image."""
    container = f"{{image: '{name}:{tag}'}}"
    return f"{{runtimeClassName: {runtime_class}, containers: [{container}]}}"


def found(text: str, cluster: str = "") -> set[str]:
    """Return the ids of errors and warnings in a pod with some fields."""
    context = examples.of_cluster(cluster) if cluster else Context()
    verdict = lint(examples.manifests(text), context)
    return {each.rule.id for each in verdict.findings if each.rule.level is not Level.NOTE}


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_a_rule_finds_its_refused_example_and_not_its_accepted_one(rule: Rule) -> None:
    context = examples.context(rule)
    accepted, refused = (
        {
            finding.rule.id
            for finding in lint(examples.manifests(text), context).findings
            if finding.rule is rule or finding.rule.level is not Level.NOTE
        }
        for text in (rule.accepted, rule.refused)
    )
    assert accepted == set()
    assert refused == {rule.id}


def test_rules_have_unique_ids_and_cite_known_requirements() -> None:
    assert len(by_id()) == len(RULES)
    known = requirements()
    assert [rule.id for rule in RULES if not set(rule.requirements.split()) <= set(known)] == []
    assert [rule.id for rule in RULES if not rule.source.startswith("https://")] == []


LIN_04 = ["runAsUser: 1", "runAsGroup: 1"]
LIN_02 = [
    *("allowPrivilegeEscalation: false", "capabilities: {add: [A]}", "procMount: Default"),
    *("seLinuxOptions: {level: s0}", "seccompProfile: {type: Unconfined}", "appArmorProfile: {type: Unconfined}"),
]
LIN_05 = [
    *("seLinuxOptions: {level: s0}", "supplementalGroups: [1]", "sysctls: [{name: a, value: b}]", "fsGroup: 1"),
    *("fsGroupChangePolicy: Always", "seccompProfile: {type: Unconfined}", "appArmorProfile: {type: Unconfined}"),
    *("supplementalGroupsPolicy: Strict", "seLinuxChangePolicy: Recursive"),
]
CASES = [
    *((f"{{containers: [{{securityContext: {{{each}}}}}]}}", {"linux-only-field"}) for each in LIN_02),
    *((f"{{containers: [{{securityContext: {{{each}}}}}]}}", {"run-as-user"}) for each in LIN_04),
    *((f"{{securityContext: {{{each}}}}}", {"run-as-user"}) for each in LIN_04),
    *((f"{{securityContext: {{{each}}}}}", {"linux-only-pod-field"}) for each in LIN_05),
    *(
        (f"{{os: {{name: windows}}, securityContext: {{{field}}}}}", {"os-refuses-field"})
        for field in (*LIN_05, *LIN_04)
    ),
    *((f"{{{each}: true}}", {"host-namespaces"}) for each in ("hostNetwork", "hostPID", "hostIPC")),
    ("{shareProcessNamespace: true}", {"host-namespaces"}),
    ("{os: {name: windows}, hostPID: true}", {"os-refuses-field", "host-namespaces"}),
    (f"{{initContainers: [{{{GOOD}, securityContext: {{privileged: true}}}}]}}", {"privileged"}),
    ("{containers: [{resources: {requests: {hugepages-1Gi: 1Gi}}}]}", {"huge-pages"}),
    ("{dnsPolicy: None}", set()),
    ("{containers: [{securityContext: {runAsNonRoot: true}}]}", set()),
    ("{containers: [{args: [/opt/run]}]}", {"unix-command"}),
    ("{containers: [{command: [cmd, /c, /S]}]}", set()),
    ("{containers: [{env: [{name: A, value: kubernetes.default}]}]}", {"half-qualified-name"}),
    ("{containers: [{env: [{name: A, value: kubernetes}]}]}", set()),
    ("{containers: [{image: 'host:5000/app'}]}", {"image-without-tag"}),
    ("{containers: [{image: 'app:latest'}]}", {"image-without-tag"}),
    ("{containers: [{image: 'app@sha256:0000'}]}", set()),
    ("{containers: [{resources: {limits: null, requests: {memory: 1Gi}}}]}", {"memory-limit"}),
    ("{volumes: [{name: a, configMap: {name: a, items: [{key: a, path: a, mode: 256}]}}]}", {"file-modes"}),
    ("{volumes: [{name: a, projected: {sources: [{secret: {items: [{key: a, mode: 256}]}}]}}]}", {"file-modes"}),
    ("{volumes: [{name: a, projected: {defaultMode: 420}}]}", set()),
    ("{volumes: [{name: a, hostPath: {path: //./pipe/docker_engine}}]}", {"runtime-pipe"}),
    ("{volumes: [{name: a, hostPath: {path: //./pipe/other}}]}", set()),
    ("{volumes: [{name: a, emptyDir: {medium: Memory}}]}", {"memory-volume"}),
    ("{volumes: [{name: a, emptyDir: {medium: HugePages-2Mi}}]}", {"huge-pages"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_one_field_of_a_windows_pod(text: str, expected: set[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize("linux", [
    "nodeSelector: {kubernetes.io/os: linux}",
    "nodeSelector: null, os: {name: linux}",
    "nodeSelector: null, " + REQUIRED % term("NotIn"),
])  # fmt: skip
def test_linux_pods_are_not_judged(linux: str) -> None:
    assert (
        found(f"{{{linux}, hostNetwork: true, containers: [{{image: a, securityContext: {{privileged: true}}}}]}}")
        == set()
    )


@pytest.mark.parametrize("windows", [
    "os: {name: windows}",
    "runtimeClassName: windows-2022",
    "nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}",
    REQUIRED % term("In"),
])  # fmt: skip
def test_each_way_to_select_windows_makes_a_windows_pod(windows: str) -> None:
    text = windows if "nodeSelector" in windows else f"nodeSelector: null, {windows}"
    assert found(f"{{{text}, hostNetwork: true}}") == {"host-namespaces"}


@pytest.mark.parametrize(("text", "cluster", "expected"), [
    # a pod without tolerations does not reach tainted Windows nodes
    ("{nodeSelector: null, tolerations: null}", WINDOWS_2022, set()),
    ("{nodeSelector: null}", WINDOWS_2022, {"no-os"}),
    ("{nodeSelector: null, tolerations: null}", "{pools: {web: {os: windows-2022, taints: []}}}", {"no-os"}),
    ("{nodeSelector: null, tolerations: [{operator: Exists}]}", "{pools: {linux: {os: ubuntu-24.04}}}", set()),
    (f"{{{DAEMONS}, tolerations: null}}", WINDOWS_2022, set()),
    (f"{{{DAEMONS}}}", WINDOWS_2022, {"daemonset-on-windows"}),
    (f"{{{DAEMONS}, tolerations: [{{effect: NoSchedule, operator: Exists}}]}}", "", {"daemonset-on-windows"}),
    # a toleration with an effect tolerates the taints of that effect only
    (f"{{{DAEMONS}, tolerations: [{{effect: NoSchedule, operator: Exists}}]}}", WINDOWS_2022, {"daemonset-on-windows"}),
    (f"{{{DAEMONS}, tolerations: [{{effect: NoExecute, operator: Exists}}]}}", WINDOWS_2022, set()),
    (f"{{{DAEMONS}, tolerations: [{{effect: NoExecute, operator: Exists}}]}}", "", set()),
    ("{tolerations: [{effect: NoExecute, operator: Exists}]}", WINDOWS_2022, {"no-toleration"}),
    ("{tolerations: [{effect: NoSchedule, operator: Exists}]}", WINDOWS_2022, set()),
    ("{nodeSelector: null, tolerations: [{effect: NoSchedule, operator: Exists}]}", WINDOWS_2022, {"no-os"}),
    ("{nodeSelector: null, nodeName: web-0, tolerations: [{operator: Exists}]}", "", set()),
    ("{tolerations: [{key: os, operator: Exists}]}", WINDOWS_2022, set()),
    ("{tolerations: [{key: os, value: other}]}", WINDOWS_2022, {"no-toleration"}),
    ("{tolerations: null, runtimeClassName: windows-2022}", WINDOWS_2022, set()),
    # an image of 2022 also runs on 2025, not the other way
    (image("ltsc2022", "windows-2025"), "", set()),
    (image("ltsc2025", "windows-2022"), "", {"image-build"}),
    (image("1809", "windows-2019"), "", set()),
    (image("1809", "windows-2022"), "", {"image-build"}),
    (image("20H2", "windows-2019"), "", {"image-build"}),
    # digits of a digest or of a program's version are no release
    (image("ltsc2022@sha256:aa1809ffaa", "windows-2022"), "", set()),
    (image("1903-ltsc2022", "windows-2022", "shop"), "", set()),
    (image("1.2004", "windows-2022", "example.com/windows/app"), "", set()),
    (image("1809-amd64", "windows-2022"), "", {"image-build"}),
    (image("8.0-nanoserver-1809", "windows-2022", "mcr.microsoft.com/dotnet/runtime"), "", {"image-build"}),
    (image("2004", "windows-2022", "example.com/windows/app"), "", {"image-build"}),
    # with one release in the pools, a pod need not name it
    (image("ltsc2019"), WINDOWS_2022, {"image-build"}),
    (image("ltsc2019"), "", set()),
    # versions
    (AZURE_DISK, azure("1.26.15"), set()),
    (AZURE_DISK, azure("1.27.16"), {"removed-volume"}),
    (AZURE_DISK, WINDOWS_2022, {"other-clouds-volume"}),
    ("{volumes: [{name: a, flexVolume: {driver: a/b}}]}", OLD, set()),
    # only where no Windows node runs containerd
    ("{volumes: [{name: a, hostPath: {path: 'C:\\a', type: FileOrCreate}}]}", DOCKER, {"single-file"}),
    ("{volumes: [{name: a, hostPath: {path: 'C:\\a', type: FileOrCreate}}]}", WINDOWS_2022, set()),
    ("{terminationGracePeriodSeconds: 120}", WINDOWS_2022, set()),
    ("{containers: [{terminationMessagePath: 'C:\\a'}]}", WINDOWS_2022, set()),
    ("{containers: [{ports: [{containerPort: 80, hostPort: 80}]}]}", ROUTED, set()),
])  # fmt: skip
def test_verdict_depends_on_the_cluster(text: str, cluster: str, expected: set[str]) -> None:
    assert found(text, cluster) == expected


SERVICE = "{kind: Service, selector: {app: web}, sessionAffinity: ClientIP, externalTrafficPolicy: Local"
WEB = "{kind: Pod, labels: {app: web}"


@pytest.mark.parametrize(("pods", "cluster", "expected"), [
    (f"{WEB}}}", "{pools: {web: {os: windows-2022}}}", set()),
    (f"{WEB}}}", "{pools: {web: {os: windows-2019}}}", {"session-affinity"}),
    (f"{WEB}}}", "{pools: {web: {os: windows-2022, kube_proxy: {dsr: false}}}}", {"local-traffic"}),
    (f"{WEB}, nodeSelector: {{kubernetes.io/os: linux}}}}", "{pools: {web: {os: windows-2019}}}", set()),
    ("{kind: Pod, labels: {app: other}}", "{pools: {web: {os: windows-2019}}}", set()),
])  # fmt: skip
def test_a_service_is_judged_by_the_pods_behind_it(pods: str, cluster: str, expected: set[str]) -> None:
    assert found(f"[{pods}, {SERVICE}}}]", cluster) == expected


def test_the_maximum_of_an_autoscaler_counts() -> None:
    deployment, service = examples.manifests(
        "[{kind: Deployment, name: web, labels: {app: web}, replicas: 2}, {kind: Service, selector: {app: web}}]"
    ).objects
    scaler: dict[str, Any] = yaml.safe_load(
        "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, "
        "spec: {maxReplicas: 65, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}"
    )
    verdict = lint(Manifests((deployment, service, Object(scaler))), Context())
    assert "many-backends" in {each.rule.id for each in verdict.findings}


@pytest.mark.parametrize("place", ["object", "template", "option"])
def test_an_ignored_rule_is_counted_and_not_reported(place: str) -> None:
    (daemons,) = examples.manifests("{kind: DaemonSet, hostPID: true, containers: [{image: a}]}").objects
    data: Any = daemons.data
    metadata = data["metadata"] if place == "object" else data["spec"]["template"]["metadata"]
    if place != "option":
        metadata["annotations"] = {"mullion.dev/lint-ignore": "host-namespaces, other"}
    ignore = ["host-namespaces"] if place == "option" else []
    verdict = lint(Manifests((Object(data),)), Context(), ignore)
    assert [each.rule.id for each in verdict.ignored] == ["host-namespaces"]
    assert "image-without-tag" in {each.rule.id for each in verdict.findings}
    assert "host-namespaces" not in {each.rule.id for each in verdict.findings}


@pytest.mark.parametrize("pod", [
    "{}", "{containers: null}", "{containers: 3}", "{containers: [3, null, {}]}", "{nodeSelector: [1]}", "3", "null",
    "{tolerations: {a: b}}", "{affinity: {nodeAffinity: 3}}",
    "{containers: [{image: 3, command: a, env: [{value: 1}]}]}",
])  # fmt: skip
def test_a_pod_of_wrong_types_ends_in_a_verdict(pod: str) -> None:
    data = {"apiVersion": "v1", "kind": "Pod", "spec": yaml.safe_load(pod)}
    lint(Manifests((Object(data),)), examples.of_cluster(WINDOWS_2022))


GMSA = "{kubernetes: %s, pools: {web: {os: windows-2022}}, gmsa: {credential_specs: {web: {contents: {}}}}}"


@pytest.mark.parametrize(
    ("kubernetes", "options", "wrong"),
    [
        ("1.36.4", "gmsaCredentialSpecName: web", False),
        ("1.35.4", "gmsaCredentialSpecName: web", True),
        ("1.35.4", "gmsaCredentialSpecName: web, gmsaCredentialSpec: '{}'", False),
        ("1.36.4", "gmsaCredentialSpec: '{}'", True),
        ("1.36.4", "runAsUserName: ContainerUser", False),
    ],
)
def test_sec_03_a_credential_spec_is_judged_by_the_stack_and_its_version(
    kubernetes: str, options: str, wrong: bool
) -> None:
    context = f"{{securityContext: {{windowsOptions: {{{options}}}}}}}"
    for text in (context, f"{{containers: [{context}]}}"):
        assert found(text, GMSA % kubernetes) == ({"gmsa"} if wrong else set()), text
        assert found(text) == set(), "without a stack nobody knows the credential specs"


ISOLATED = "{pools: {web: {os: windows-2022, isolation: hyperv}}}"
HYPERV_CLASS = "[{kind: RuntimeClass, name: own, handler: runhcs-wcow-hypervisor}]"


@pytest.mark.parametrize(
    ("cluster", "wrong"), [("", {"hyperv-handler"}), (WINDOWS_2022, {"hyperv-handler"}), (ISOLATED, set())]
)
def test_sec_06_the_handler_of_hyper_v_is_accepted_where_a_pool_offers_it(cluster: str, wrong: set[str]) -> None:
    assert found(HYPERV_CLASS, cluster) == wrong


@pytest.mark.parametrize(
    ("text", "cluster", "wrong"),
    [
        ("{runtimeClassName: windows-2022-hyperv}", ISOLATED, set()),
        ("{runtimeClassName: windows-2022-hyperv}", "", set()),
        ("{runtimeClassName: windows-2022-hyperv}", WINDOWS_2022, {"hyperv-class"}),
        ("{runtimeClassName: windows-2019-hyperv}", ISOLATED, {"hyperv-class", "build-without-nodes"}),
        (image("ltsc2019", "windows-2022-hyperv"), ISOLATED, {"image-build"}),
        (image("ltsc2022", "windows-2022-hyperv"), ISOLATED, set()),
    ],
)
def test_sec_06_a_class_of_hyper_v_is_of_one_build_as_the_other_classes_are(
    text: str, cluster: str, wrong: set[str]
) -> None:
    assert found(text, cluster) == wrong
