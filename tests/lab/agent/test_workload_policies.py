"""The rules about manifests on a real API server: it gives the verdict of the linter on every example."""

import json
import random
import re
import ssl
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import yaml

from components import releases
from components.lint import RULES, Context, Level, examples, policies
from components.lint.documents import Manifests, Object
from components.lint.judge import lint
from tests.awaited import until
from tests.components.lint.test_rules import CASES
from tests.lab.agent.served import Served
from tests.seed import SEED
from tools.golden.samples import content, plan

pytestmark = pytest.mark.lab

PATHS = {"Pod": "/api/v1/namespaces/{}/pods"}
PATHS |= {kind: f"/apis/apps/v1/namespaces/{{}}/{kind.lower()}s" for kind in ("Deployment", "DaemonSet", "StatefulSet")}
PATHS |= {kind: f"/apis/batch/v1/namespaces/{{}}/{kind.lower()}s" for kind in ("Job", "CronJob")}
NAMESPACE = "lint"
PRIVILEGED = {"pod-security.kubernetes.io/enforce": "privileged"}
RUNTIME_CLASSES = ("windows-2019", "windows-2022")
RULE = re.compile(r"\[([a-z-]+)\]")
WARN = {Level.ERROR: ["Warn"], Level.WARNING: ["Warn"]}
MIXED = "{pools: {linux: {os: ubuntu-24.04}, web: {os: windows-2022}}}"
CLUSTERS = sorted({rule.cluster for rule in RULES if rule.judge == "policy" and rule.cluster} | {MIXED, ""})
SPEAKING = [rule for rule in RULES if rule.judge in ("policy", "api")]


class Judge:
    """The API server as the administrator, by dry runs."""

    def __init__(self, served: Served) -> None:
        self.served = served
        config = yaml.safe_load(served.administrator.read_text())
        user = config["users"][0]["user"]
        pair = served.folder / "lint.pem"
        pair.write_bytes(b"\n".join(_decoded(user[f"client-{part}-data"]) for part in ("certificate", "key")))
        context = ssl.create_default_context(cafile=str(served.pki / "ca.crt"))
        context.load_cert_chain(str(pair))
        self.client = httpx.Client(base_url=served.url, verify=context, timeout=30)

    def apply(self, manifests: list[dict[str, Any]]) -> None:
        """Apply manifests; an error of an expression shows in the answers."""
        for each in manifests:
            if each["kind"] == "ValidatingAdmissionPolicy":
                each["spec"]["failurePolicy"] = "Fail"
        file = self.served.folder / "lint.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
        self.served.kubectl("apply", "--server-side", "--force-conflicts", "--filename", str(file))

    def create(self, item: Any, headers: dict[str, str] | None = None) -> httpx.Response:
        """Return the answer to the creation of an object, which is not kept. headers: for example another user."""
        path = PATHS[item["kind"]].format(item["metadata"].get("namespace", "default"))
        return self.client.post(path, params={"dryRun": "All"}, json=item, headers=headers)

    def verdict(self, item: Any) -> set[str]:
        """Return the rules that the policies name for an object."""
        answer = self.create(item)
        warnings = answer.headers.get_list("warning")
        faults = [each for each in warnings if "expression" in each and "resulted in error" in each]
        assert not faults, faults
        return {"api-refuses"} if answer.status_code == 422 else set(RULE.findall(" ".join(warnings)))


def _decoded(text: str) -> bytes:
    import base64

    return base64.b64decode(text)


@pytest.fixture(scope="module")
def judge(served: Served) -> Iterator[Judge]:
    if not releases.release(served.kubernetes).admission_policies:
        pytest.skip("before Kubernetes 1.30 the API server has no ValidatingAdmissionPolicy v1")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": PRIVILEGED}}
    found = Judge(served)
    found.apply([namespace])
    account = ("get", "serviceaccount", "default", "--namespace", NAMESPACE)
    until(lambda: served.kubectl(*account, check=False), "the namespace has its service account")
    removed(served)  # tests of add-ons make the same objects with other handlers and owners
    for runtime in RUNTIME_CLASSES:
        found.apply(
            [{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": runtime}, "handler": "a"}]
        )
    yield found
    found.client.close()
    served.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    removed(served)


def removed(served: Served) -> None:
    """Delete policies, bindings and runtime classes."""
    for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
        served.kubectl("delete", kind, *policies.NAMES.values(), "--ignore-not-found")
    served.kubectl("delete", "runtimeclass", *RUNTIME_CLASSES, "--ignore-not-found")


def pod(text: str) -> dict[str, Any]:
    """Return the object of an example."""
    (item,) = examples.manifests(text).objects
    return made(item.data)


def made(item: Any, namespace: str = NAMESPACE) -> dict[str, Any]:
    return {**item, "metadata": {**item["metadata"], "namespace": namespace}}


def in_force(judge: Judge, context: Context, actions: dict[Level, list[str]], generation: str) -> None:
    """Apply the policies, and wait until the API server judges by them: a probe's message names the generation."""
    manifests = policies.manifests(context, actions, ["kube-system"])
    for manifest in manifests:
        if manifest["kind"] == "ValidatingAdmissionPolicy":
            probe = {
                "expression": 'request.name != "probe"',
                "message": f"{manifest['metadata']['name']} {generation}.",
            }
            manifest["spec"]["validations"].append(probe)
    judge.apply(manifests)
    probe_pod = made({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": examples.POD})
    for level, name in policies.NAMES.items():
        denies = "Deny" in actions[level]

        def seen(name: str = name, denies: bool = denies) -> bool:
            answer = judge.create(probe_pod)
            text = answer.text if denies else " ".join(answer.headers.get_list("warning"))
            return f"{name} {generation}." in text

        if level is Level.ERROR or "Deny" not in actions[Level.ERROR]:
            until(seen, f"{name} is in force")


@pytest.mark.parametrize("cluster", CLUSTERS, ids=[each or "no stack" for each in CLUSTERS])
def test_the_api_server_gives_the_linters_verdict_on_every_example(judge: Judge, cluster: str) -> None:
    context = examples.of_cluster(cluster) if cluster else Context()
    in_force(judge, context, WARN, f"c{CLUSTERS.index(cluster)}")
    own = [rule for rule in SPEAKING if rule.cluster in ("", cluster)]
    differing = {}
    for text in (text for rule in own for text in (rule.accepted, rule.refused)):
        expected, got = linted(pod(text), context), judge.verdict(pod(text))
        if expected != got:
            differing[text] = (expected, got)
    assert differing == {}


def linted(item: Any, context: Context) -> set[str]:
    """Return the verdict of the linter in the words of Judge.verdict."""
    rules = [each.rule for each in lint(Manifests((Object(item),)), context).findings]
    if any(rule.judge == "api" for rule in rules):
        return {"api-refuses"}
    return {rule.id for rule in rules if rule.judge == "policy"}


def test_the_api_server_gives_the_linters_verdict_on_mixed_pods(judge: Judge) -> None:
    context, sample = examples.of_cluster(MIXED), random.Random(SEED)
    in_force(judge, context, WARN, "mixed")
    texts = [rule.refused for rule in SPEAKING if rule.judge == "policy" and not rule.refused.startswith("{kind")]
    differing = {}
    for _ in range(80):
        parts = sample.sample(texts, 3)
        item = pod(parts[0])
        for part in parts[1:]:
            item["spec"] = examples.merged(item["spec"], yaml.safe_load(part))
        got = judge.verdict(item)
        if got not in ({"api-refuses"}, linted(item, context)):
            differing[tuple(parts)] = (linted(item, context), got)
    assert differing == {}


def test_the_api_server_gives_the_linters_verdict_on_each_field(judge: Judge) -> None:
    context = examples.of_cluster(MIXED)
    in_force(judge, context, WARN, "fields")
    verdicts = {text: (linted(pod(text), context), judge.verdict(pod(text))) for text, _ in CASES}
    # a few cases of the linter lack fields that the API server requires
    incomplete = [text for text, (own, got) in verdicts.items() if got == {"api-refuses"} != own]
    assert len(incomplete) <= 6, incomplete
    assert {text: both for text, both in verdicts.items() if both[0] != both[1] and text not in incomplete} == {}
    assert sum(own == {"api-refuses"} for own, _ in verdicts.values()) > 10, "fields that os.name: windows forbids"


@pytest.mark.parametrize("kind", [kind for kind in PATHS if kind != "Pod"])
def test_templates_of_workloads_get_the_verdict_of_their_pods(judge: Judge, kind: str) -> None:
    context = examples.of_cluster(MIXED)
    in_force(judge, context, WARN, f"templates {kind}")
    item = workload(kind, "{hostNetwork: true, volumes: [{name: a, emptyDir: {medium: Memory}}]}")
    assert judge.verdict(item) == linted(item, context) == {"host-namespaces", "memory-volume"}


def test_enforced_rules_refuse_errors_and_warn_of_the_rest(judge: Judge) -> None:
    existing = workload("Deployment", "{hostNetwork: true}", replicas=0)
    assert judge.client.post(PATHS["Deployment"].format(NAMESPACE), json=existing).status_code == 201
    enforced = {Level.ERROR: ["Deny"], Level.WARNING: ["Warn"]}
    in_force(judge, examples.of_cluster(MIXED), enforced, "enforced")
    refused = judge.create(pod("{hostNetwork: true}"))
    assert refused.status_code == 422
    assert "[host-namespaces]" in refused.json()["message"]
    warned = judge.create(pod("{containers: [{resources: null}]}"))
    assert warned.status_code == 201
    assert "[memory-limit]" in " ".join(warned.headers.get_list("warning"))
    system = made(pod("{hostNetwork: true}"), "kube-system")
    assert judge.create(system).status_code == 201, "the control plane's namespace is not judged"

    path, kind = f"{PATHS['Deployment'].format(NAMESPACE)}/example", {"Content-Type": "application/merge-patch+json"}
    scaled = judge.client.patch(path, headers=kind, json={"spec": {"replicas": 1}})
    assert scaled.status_code == 200, "a workload from before can be scaled"
    for user, copy in (("replicaset", pod("{hostNetwork: true}")), ("cronjob", workload("Job", "{hostNetwork: true}"))):
        as_controller = {"Impersonate-User": f"system:serviceaccount:kube-system:{user}-controller"}
        assert judge.create(copy).status_code == 422, "a person's object is judged"
        answer = judge.create(copy, as_controller)
        assert answer.status_code == 201, f"{user}: what a controller copies from a template is not judged again"
    changed = {"spec": {"template": {"metadata": {"labels": {"b": "c"}}}}}
    assert judge.client.patch(path, headers=kind, json=changed).status_code == 422, "a new template is judged"


def test_enforced_rules_refuse_host_ports_on_an_overlay_and_nowhere_else(judge: Judge) -> None:
    text = "{containers: [{ports: [{containerPort: 80, hostPort: 80}]}]}"
    enforced = {Level.ERROR: ["Deny"], Level.WARNING: ["Warn"]}
    for mode, code in (("overlay", 422), ("l2bridge", 201)):
        context = examples.of_cluster(f"{{network: {{mode: {mode}}}, pools: {{web: {{os: windows-2022}}}}}}")
        in_force(judge, context, enforced, f"ports {mode}")
        for item in (pod(text), workload("StatefulSet", text)):
            answer = judge.create(item)
            assert answer.status_code == code, answer.text
            assert ("[host-port-on-overlay]" in answer.text) == (code == 422)
        assert judge.create(pod("{containers: [{ports: [{containerPort: 80}]}]}")).status_code == 201
        linux = f"{{os: {{name: linux}}, nodeSelector: {{kubernetes.io/os: linux}}, {text[1:]}"
        assert judge.create(pod(linux)).status_code == 201, "Linux pods keep their ports"


def test_the_policies_of_a_plan_are_accepted_and_their_types_are_right(judge: Judge) -> None:
    planned = plan(None, pools={"web": {"os": "windows-2022"}})
    judge.apply(content(planned, "addon-windows-workloads")["items"])
    for name in policies.NAMES.values():
        assert until(lambda name=name: warnings_of(judge, name), f"{name} is type-checked") == ["checked"]


def warnings_of(judge: Judge, name: str) -> list[str]:
    """Return the API server's warnings about types, after the word checked; empty before it has checked the policy."""
    answer = judge.client.get(f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{name}").json()
    status = answer.get("status", {})
    warnings = status.get("typeChecking", {}).get("expressionWarnings", [])
    current = status.get("observedGeneration") == answer["metadata"]["generation"]
    return ["checked", *(each["warning"] for each in warnings)] if current else []


def workload(kind: str, text: str, **spec: Any) -> dict[str, Any]:
    """Return a workload with the pod of an example."""
    labels = {"app": "example"}
    template: dict[str, Any] = {"metadata": {"labels": labels}, "spec": pod(text)["spec"]}
    body: dict[str, Any] = {"selector": {"matchLabels": labels}, "template": template, **spec}
    if kind in ("Job", "CronJob"):
        body = {"template": {"spec": {**template["spec"], "restartPolicy": "Never"}}}
    if kind == "CronJob":
        body = {"schedule": "0 3 * * *", "jobTemplate": {"spec": body}}
    if kind == "StatefulSet":
        body["serviceName"] = "example"
    group = "batch/v1" if kind in ("Job", "CronJob") else "apps/v1"
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "example", "namespace": NAMESPACE}, "spec": body}
