"""gMSA on a real API server: pods get contents by name, with the right to them alone."""

from collections.abc import Iterator
from typing import Any

import pytest

from components import releases
from components.node import gmsa, gmsa_policies
from components.spec.gmsa import NamedGmsa
from operations.commands import reached_api
from operations.verification import identities
from operations.verification.cluster import Cluster
from operations.verification.verdicts import Verdict
from tests.awaited import until
from tests.components.spec.gmsa_values import CONTENTS, with_input
from tests.lab.agent.served import Served
from tests.lab.agent.test_workload_policies import PRIVILEGED, Judge
from tools.golden.samples import content, plan

pytestmark = pytest.mark.lab

OURS, OTHER = "gmsa-web", "gmsa-other"
SPECS: dict[str, Any] = {
    "web": {"contents": CONTENTS, "users": [f"{OURS}/default", f"{OURS}/iis"]},
    "shop": {"contents": with_input('a "quoted" \\ input'), "users": [f"{OURS}/default"]},
    "closed": {"contents": with_input("another"), "users": []},
}
WRITTEN = {name: gmsa.text(NamedGmsa.model_validate(spec)) for name, spec in SPECS.items()}
IMAGE = "mcr.microsoft.com/windows/nanoserver:ltsc2022"


def manifests(kubernetes: str, **specs: Any) -> list[dict[str, Any]]:
    return addon(kubernetes, credential_specs=specs or SPECS)


def addon(kubernetes: str, **gmsa: Any) -> list[dict[str, Any]]:
    return content(plan(None, kubernetes=kubernetes, gmsa=gmsa), "addon-gmsa")["items"]


def options(name: str | None = None, contents: str | None = None) -> dict[str, Any]:
    """Return a security context with a credential spec."""
    fields = {"gmsaCredentialSpecName": name, "gmsaCredentialSpec": contents}
    return {"securityContext": {"windowsOptions": {key: value for key, value in fields.items() if value is not None}}}


def container(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": IMAGE, **more}


def pod(namespace: str = OURS, containers: list[dict[str, Any]] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "app", "namespace": namespace},
        "spec": {"os": {"name": "windows"}, "containers": containers or [container("app")], **spec},
    }


@pytest.fixture(scope="module")
def judge(served: Served) -> Iterator[Judge]:
    release = releases.release(served.kubernetes)
    if not release.admission_policies:
        pytest.skip("before Kubernetes 1.30 the API server has no ValidatingAdmissionPolicy v1")
    found = Judge(served)
    for name in (OURS, OTHER):
        about = {"name": name, "labels": PRIVILEGED}
        found.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": about}])
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "iis", "namespace": OURS}}
    found.apply([account])
    for name in (OURS, OTHER):
        words = ("get", "serviceaccount", "default", "--namespace", name)
        until(lambda words=words: served.kubectl(*words, check=False), "the namespace has its service account")
    put(found, manifests(served.kubernetes))
    until(lambda: found.create(pod(OTHER, **options("web"))).status_code == 403, "the judging policy is in force")
    if release.mutating_policies:
        until(lambda: found.create(pod(**options("web"))).status_code == 201, "the filling policy is in force")
    yield found
    found.client.close()
    removed(served)


def put(judge: Judge, made: list[dict[str, Any]]) -> None:
    """Apply the add-on as control planes do: the definition first."""
    definition, *others = made
    judge.apply([definition])
    name = f"customresourcedefinition/{definition['metadata']['name']}"
    judge.served.kubectl("wait", "--for=condition=Established", "--timeout=60s", name)
    judge.apply(others)


def removed(served: Served) -> None:
    for kind, name in (("validating", gmsa_policies.JUDGE), ("mutating", gmsa_policies.FILL)):
        for suffix in ("binding", ""):
            served.kubectl("delete", f"{kind}admissionpolicy{suffix}", name, "--ignore-not-found", check=False)


@pytest.fixture
def filling(judge: Judge) -> Judge:
    if not releases.release(judge.served.kubernetes).mutating_policies:
        pytest.skip("before Kubernetes 1.36 nothing fills in contents")
    return judge


def has(item: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return name and contents of the credential spec of a pod's spec or of a container."""
    found = item.get("securityContext", {}).get("windowsOptions", {})
    return found.get("gmsaCredentialSpecName"), found.get("gmsaCredentialSpec")


def test_sec_03_a_pod_with_the_name_gets_the_contents(filling: Judge) -> None:
    answer = filling.create(pod(**options("web")))
    assert answer.status_code == 201, answer.text
    assert has(answer.json()["spec"]) == ("web", WRITTEN["web"])
    assert has(answer.json()["spec"]["containers"][0]) == (None, None)


def test_sec_03_each_container_gets_the_contents_of_its_own_name_and_keeps_its_other_fields(filling: Judge) -> None:
    named = options("shop")
    named["securityContext"]["windowsOptions"]["runAsUserName"] = "ContainerUser"
    made = pod(
        containers=[container("first"), container("second", **named, command=["a"]), container("third")],
        initContainers=[container("before", **options("web")), container("again")],
        **options("web"),
    )
    answer = filling.create(made)
    assert answer.status_code == 201, answer.text
    spec = answer.json()["spec"]
    assert [(each["name"], has(each)) for each in spec["containers"]] == [
        ("first", (None, None)),
        ("second", ("shop", WRITTEN["shop"])),
        ("third", (None, None)),
    ]
    assert [has(each) for each in spec["initContainers"]] == [("web", WRITTEN["web"]), (None, None)]
    second = spec["containers"][1]
    assert second["securityContext"]["windowsOptions"]["runAsUserName"] == "ContainerUser"
    assert (second["command"], second["image"]) == (["a"], IMAGE)


def test_sec_03_names_in_containers_alone_are_filled_in(filling: Judge) -> None:
    answer = filling.create(pod(containers=[container("app", **options("web"))], serviceAccountName="iis"))
    assert answer.status_code == 201, answer.text
    assert has(answer.json()["spec"]["containers"][0]) == ("web", WRITTEN["web"])
    assert has(answer.json()["spec"]) == (None, None)


REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("no right, namespace", pod(OTHER, **options("web", WRITTEN["web"])), 403, "may not use the credential spec web"),
    ("no right, account", pod(serviceAccountName="iis", **options("shop", WRITTEN["shop"])), 403, "shop"),
    ("no right, nobody", pod(**options("closed", WRITTEN["closed"])), 403, "closed"),
    ("no right, container", pod(OTHER, [container("a", **options("web", WRITTEN["web"]))]), 403, "web"),
    ("unknown", pod(**options("wen", WRITTEN["web"])), 422, "must be a credential spec of gmsa.credential_specs"),
    ("contents of another", pod(**options("web", WRITTEN["shop"])), 422, "mullion.dev/contents"),
    ("changed contents", pod(**options("web", WRITTEN["web"] + " ")), 422, "mullion.dev/contents"),
    ("contents alone", pod(**options(None, WRITTEN["web"])), 422, "must be a credential spec"),
    ("container", pod(containers=[container("a"), container("b", **options(None, "{}"))]), 422, "must be"),
    ("init container", pod(initContainers=[container("b", **options("web", "{}"))]), 422, "contents"),
    ("init container alone", pod(OTHER, initContainers=[container("b", **options("web", WRITTEN["web"]))]), 403, "web"),
]


@pytest.mark.parametrize(("made", "code", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_sec_03_a_pod_is_refused(judge: Judge, made: dict[str, Any], code: int, says: str) -> None:
    answer = judge.create(made)
    assert (answer.status_code, says in answer.json()["message"]) == (code, True), answer.text


ACCEPTED: dict[str, dict[str, Any]] = {
    "both": pod(**options("web", WRITTEN["web"])),
    "both, with quotation marks": pod(**options("shop", WRITTEN["shop"])),
    "containers": pod(
        containers=[
            container("a", **options("web", WRITTEN["web"])),
            container("b", **options("shop", WRITTEN["shop"])),
        ]
    ),
    "none": pod(OTHER),
    "other options": pod(OTHER, securityContext={"windowsOptions": {"runAsUserName": "ContainerUser"}}),
    "linux": {**pod(OTHER), "spec": {"containers": [{"name": "a", "image": "a"}], "securityContext": {"runAsUser": 1}}},
}


@pytest.mark.parametrize("made", ACCEPTED.values(), ids=ACCEPTED)
def test_sec_03_a_pod_is_accepted_and_unchanged(judge: Judge, made: dict[str, Any]) -> None:
    answer = judge.create(made)
    assert answer.status_code == 201, answer.text
    assert has(answer.json()["spec"]) == has(made["spec"])


def test_sec_03_without_the_filling_policy_the_name_alone_is_refused(judge: Judge) -> None:
    """As before Kubernetes 1.36, where the pod would start without its identity."""
    only = manifests("1.35.4")
    assert "MutatingAdmissionPolicy" not in {each["kind"] for each in only}
    judge.served.kubectl(
        "delete", "mutatingadmissionpolicybinding", gmsa_policies.FILL, "--ignore-not-found", check=False
    )
    until(lambda: judge.create(pod(**options("web"))).status_code == 422, "nothing fills in contents")
    assert judge.create(pod(**options("web", WRITTEN["web"]))).status_code == 201
    put(judge, manifests(judge.served.kubernetes))
    if releases.release(judge.served.kubernetes).mutating_policies:
        until(lambda: judge.create(pod(**options("web"))).status_code == 201, "the filling policy is in force again")


def test_sec_03_a_role_binding_of_a_namespace_gives_the_right_there(judge: Judge) -> None:
    """As Kubernetes' guide binds it."""
    made = pod(OTHER, **options("web", WRITTEN["web"]))
    rbac = "rbac.authorization.k8s.io"
    judge.apply(
        [
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "web", "namespace": OTHER},
                "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "mullion-gmsa-web"},
                "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": OTHER}],
            }
        ]
    )
    until(lambda: judge.create(made).status_code == 201, "the binding gives the right")
    judge.served.kubectl("delete", "rolebinding", "web", "--namespace", OTHER)
    until(lambda: judge.create(made).status_code == 403, "without the binding the right is gone")


def test_sec_03_an_ephemeral_container_cannot_bring_a_credential_spec_without_the_right(judge: Judge) -> None:
    path = f"/api/v1/namespaces/{OTHER}/pods"
    created = judge.client.post(path, json=pod(OTHER))
    assert created.status_code == 201, created.text

    def added(**fields: Any) -> int:
        body = {"spec": {"ephemeralContainers": [container("debug", **fields)]}}
        headers = {"content-type": "application/strategic-merge-patch+json"}
        where = f"{path}/app/ephemeralcontainers"
        return judge.client.patch(where, params={"dryRun": "All"}, json=body, headers=headers).status_code

    try:
        assert added() == 200
        assert added(**options("web", WRITTEN["web"])) == 403
        assert added(**options(None, WRITTEN["web"])) == 422
    finally:
        judge.client.delete(f"{path}/app", params={"gracePeriodSeconds": 0})


def test_sec_03_verify_passes_with_the_policy_and_fails_without_it(judge: Judge) -> None:
    cluster = Cluster(reached_api.client(judge.served.administrator.read_text()), OTHER)

    def verdicts() -> list[Verdict]:
        return [row.verdict for row in identities.rows(cluster, WRITTEN)]

    assert verdicts() == [Verdict.PASSED] * 4
    judge.served.kubectl("delete", "validatingadmissionpolicybinding", gmsa_policies.JUDGE)
    try:
        until(lambda: verdicts() == [Verdict.FAILED] * 4, "the policy no longer judges")
    finally:
        put(judge, manifests(judge.served.kubernetes))
        until(lambda: verdicts() == [Verdict.PASSED] * 4, "the policy judges again")


def test_sec_03_the_types_of_the_expressions_are_right(judge: Judge) -> None:
    def warnings() -> list[str]:
        path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{gmsa_policies.JUDGE}"
        answer = judge.client.get(path).json()
        status = answer.get("status", {})
        found = status.get("typeChecking", {}).get("expressionWarnings", [])
        return ["checked", *(each["warning"] for each in found)] if status.get("observedGeneration") else []

    assert until(warnings, "the policy is type-checked") == ["checked"]
