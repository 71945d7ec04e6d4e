"""What tests of the HTML report share: a state of the stack small, results of tests, a parser."""

import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib

from components.plan import ClusterPlan, plan_cluster
from operations.stacks import stack_files, target
from operations.stacks.target import Target
from operations.verification.verdicts import Row, Verdict
from sandbox.values import SECRET, SIGNATURE
from tests.operations.states import put

AWS_INSTANCE = "aws:ec2/instance:Instance"
SECRETS = {
    "kubeconfig": "client-key-data: c2VjcmV0LWtleS1vZi10aGUtYWRtaW4=",
    "token": "abcdef.0123456789abcdef",
    "password": "hunter2-of-the-winadmin",
    "user-data": "IyEvYmluL3NoIHNlY3JldC11c2VyLWRhdGE=",
    "environment": "value-of-an-environment-secret",
}
"""Secrets that are planted in the state, in files and in the environment."""

ROWS = [
    Row("metadata", "web-0", "tcp 10.244.1.3:80", Verdict.PASSED, "10 ms", "windows-2022"),
    Row("packet-size", "web-1", "name kubernetes.default", Verdict.FAILED, "no answer", "windows-2022"),
    Row("metadata", "web-1", "closed: tcp 10.96.0.1:443", Verdict.LIMIT, "not on 2019", "windows-2019"),
]
RUN = {
    "cluster": "small",
    "template": "small",
    "began": "2026-11-23T10:00:00Z",
    "exit_code": 7,
    "phases": [
        {"name": "up", "result": "passed", "seconds": 125.0, "message": ""},
        {"name": "command", "result": "failed", "seconds": 3.0, "message": "sh ended with 7"},
    ],
    "kept_until": "",
    "left": "",
    "artifacts": {},
}


def state(planned: ClusterPlan) -> dict[str, Any]:
    """Return a state of the cluster, as the engine exports it, with secrets encrypted, decrypted and in plain text."""
    built = planned.spec.model_dump(mode="json")
    root = f"urn:pulumi:{planned.name}::mullion::mullion:index:MixedCluster::{planned.name}"
    resources: list[dict[str, Any]] = [
        {
            "type": "pulumi:pulumi:Stack",
            "urn": f"urn:pulumi:{planned.name}::mullion::pulumi:pulumi:Stack::mullion-{planned.name}",
            "outputs": {"kubeconfig": _secret(SECRETS["kubeconfig"]), "token": SECRETS["token"]},
        },
        {"type": "mullion:index:MixedCluster", "urn": root, "inputs": built, "created": "2026-11-23T10:00:00.8Z"},
        {
            "type": "pulumi:index:Stash",
            "custom": True,
            "urn": f"{root}-join",
            "outputs": {"output": _secret(SECRETS["token"])},
            "created": "2026-11-23T10:00:30.1Z",
        },
    ]
    for pool in planned.pools:
        workers = f"{root}$mullion:aws:Workers::{planned.name}-{pool.name}"
        resources.append(
            {"type": "mullion:aws:Workers", "urn": workers, "outputs": {"kubernetes": planned.spec.kubernetes}}
        )
    for group in planned.machine_groups:
        digest = {} if group.is_control_plane else {"mullion:digest": group.replace_digest[:16]}
        tags = {"mullion:cluster": planned.name, "mullion:pool": group.name, **digest}
        for number, machine in enumerate(group.machines):
            given = {"privateIp": str(machine.address), "tags": tags, "userData": SECRETS["user-data"]}
            zone = {"availabilityZone": "eu-west-1a", "passwordData": SECRETS["password"]}
            resources.append(
                {
                    "type": AWS_INSTANCE,
                    "custom": True,
                    "id": f"i-{group.name}-{number}",
                    "urn": f"{root}$mullion:aws:Workers${AWS_INSTANCE}::{planned.name}-{machine.name}",
                    "inputs": given,
                    "outputs": {**given, **zone},
                    "created": "2026-11-23T10:02:05.1Z",
                }
            )
    return {"resources": resources}


def _secret(value: str) -> dict[str, str]:
    return {SIGNATURE: SECRET, "ciphertext": "v1:c2VjcmV0LWNpcGhlcnRleHQ=", "plaintext": json.dumps(value)}


def build(name: str) -> None:
    """Write the state of a stack into its sandbox, as if `up` had built what its file says."""
    put(name, state(plan_cluster(name, stack_files.load(name).spec)))
    target.remember(name, Target("sandbox"))


def parsed(text: str) -> Element:
    """Parse a page by the rules of HTML5; any error of syntax raises."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)


def words(page: Path) -> str:
    """Return the texts of a page in one line."""
    return " ".join(" ".join(parsed(page.read_text("utf-8")).itertext()).split())
