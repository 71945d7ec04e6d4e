"""gMSA on a real API server: what changes of the stack file, and policies of others, do to pods."""

import pytest

from components import releases
from components.checks.gmsa import MOST_CHARACTERS
from components.node import gmsa, gmsa_policies
from components.spec.gmsa import NamedGmsa
from tests.awaited import until
from tests.components.spec.gmsa_values import PLUGIN, with_input
from tests.lab.agent import test_gmsa
from tests.lab.agent.test_gmsa import OTHER, OURS, SPECS, WRITTEN, addon, container, has, manifests, options, pod, put
from tests.lab.agent.test_workload_policies import Judge

pytestmark = pytest.mark.lab
judge = test_gmsa.judge
KIND = "CustomResourceDefinition"


def test_sec_03_a_plug_in_without_credential_specs_gives_no_pod_a_gmsa(judge: Judge) -> None:
    put(judge, addon(judge.served.kubernetes, plugin=PLUGIN["gmsa"]["plugin"]))
    inline = (pod(**options(None, WRITTEN["web"])), pod(**options("web", WRITTEN["web"])))
    try:
        until(lambda: [judge.create(each).status_code for each in inline] == [422, 422], "every gMSA is refused")
        assert judge.create(pod()).status_code == 201
    finally:
        put(judge, manifests(judge.served.kubernetes))
        until(lambda: judge.create(inline[1]).status_code == 201, "the credential specs are back")


def test_sec_03_a_refusal_names_no_credential_spec_of_others(judge: Judge) -> None:
    answer = judge.create(pod(OTHER, **options("wen", "{}")))
    assert answer.status_code == 422
    assert not [name for name in SPECS if name in answer.json()["message"].replace("gmsa-web", "")]


LATE = "zz-late-name"


def test_sec_03_a_name_that_another_policy_writes_later_is_filled_in(judge: Judge) -> None:
    if not releases.release(judge.served.kubernetes).mutating_policies:
        pytest.skip("before Kubernetes 1.36 nothing fills in contents")
    context = "Object.spec.securityContext"
    added = f'{context}{{windowsOptions: {context}.windowsOptions{{gmsaCredentialSpecName: "web"}}}}'
    kind = {"apiVersion": gmsa_policies.API, "metadata": {"name": LATE}}
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
            ]
        },
        "matchConditions": [{"name": "late", "expression": "object.metadata.?labels.?late.hasValue()"}],
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {"expression": f"Object{{spec: Object.spec{{securityContext: {added}}}}}"},
            }
        ],
    }
    binding = {**kind, "kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": LATE}}
    judge.apply([{**kind, "kind": "MutatingAdmissionPolicy", "spec": spec}, binding])
    late = pod()
    late["metadata"]["labels"] = {"late": "yes"}
    try:
        until(
            lambda: has(judge.create(late).json().get("spec", {})) == ("web", WRITTEN["web"]),
            "the name is filled in",
            20,
        )
    finally:
        for each in ("mutatingadmissionpolicybinding", "mutatingadmissionpolicy"):
            judge.served.kubectl("delete", each, LATE)


def test_sec_03_the_definition_takes_the_place_of_the_published_one_and_keeps_its_older_version(judge: Judge) -> None:
    """Clusters that had windows-gmsa before 2021 may store v1alpha1."""
    [definition] = (each for each in addon(judge.served.kubernetes, keep_policy=True) if each["kind"] == KIND)
    name = definition["metadata"]["name"]
    judge.served.kubectl("delete", "crd", name)
    older, newer = definition["spec"]["versions"]
    stored = {**definition["spec"], "versions": [{**older, "storage": True, "deprecated": False}]}
    judge.apply([{**definition, "spec": stored}])
    judge.served.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"crd/{name}")
    try:
        put(judge, manifests(judge.served.kubernetes))
        path = "/apis/windows.k8s.io/{}/gmsacredentialspecs/web"
        for version in (older["name"], newer["name"]):
            until(lambda version=version: judge.client.get(path.format(version)).status_code == 200, "it is served", 30)
        found = judge.client.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}").json()
        assert found["status"]["storedVersions"] == ["v1alpha1", "v1"]
    finally:
        judge.served.kubectl("delete", "crd", name)
        put(judge, manifests(judge.served.kubernetes))


def test_sec_03_a_user_may_read_its_own_credential_spec_alone(judge: Judge) -> None:
    for account, answers in ((f"{OURS}:iis", ["yes", "no"]), (f"{OTHER}:default", ["no", "no"])):
        who = f"--as=system:serviceaccount:{account}"
        said = [
            judge.served.kubectl("auth", "can-i", "get", f"gmsacredentialspecs.windows.k8s.io/{name}", who, check=False)
            for name in ("web", "closed")
        ]
        assert [str(each).strip().splitlines()[-1] for each in said] == answers


def test_sec_03_as_many_and_as_large_credential_specs_as_the_checks_accept_are_judged(judge: Judge) -> None:
    def spec(index: int) -> dict[str, object]:
        return {"contents": with_input(f"{index:03}" + 97 * '"'), "users": [f"{OURS}/default"]}

    size = len(gmsa_policies.literal({"many000": gmsa.text(NamedGmsa.model_validate(spec(0)))}))
    specs = {f"many{index}": spec(index) for index in range(MOST_CHARACTERS // size)}
    put(judge, manifests(judge.served.kubernetes, **specs))
    texts = {name: gmsa.text(NamedGmsa.model_validate(each)) for name, each in specs.items()}
    names = list(specs)[:20]
    made = pod(containers=[container(name, **options(name, texts[name])) for name in names])
    try:
        until(lambda: judge.create(made).status_code == 201, "the new specs are in force")
    finally:
        put(judge, manifests(judge.served.kubernetes))
        until(
            lambda: judge.create(pod(**options("web", WRITTEN["web"]))).status_code == 201, "the first specs are back"
        )
