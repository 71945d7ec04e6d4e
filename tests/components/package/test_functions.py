"""Functions of the package, called as the engine calls them: plan, cost, versions, and their errors."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from components.plan import plan_cluster
from components.stack_files.stack import read_stack, stack_file_config

ROOT = Path(__file__).resolve().parents[3]
SCHEMA: dict[str, Any] = json.loads((ROOT / "components" / "schema.json").read_text("utf-8"))
CLUSTER: dict[str, Any] = {
    "cloud": "aws",
    "kubernetes": "1.36.4",
    "owner": "platform-team",
    "network": {"mode": "overlay", "pods": "10.244.0.0/16", "services": "10.96.0.0/12", "nodes": "10.20.0.0/16"},
    "controlPlane": {"count": 1, "size": "m6i.large"},
    "pools": {
        "linux": {"os": "ubuntu-22.04", "count": 1, "size": "m6i.large"},
        "web": {
            "os": "windows-2022",
            "runtime": "containerd",
            "count": 1,
            "size": "m6i.xlarge",
            "labels": {"team": "web"},
        },
    },
}
"""The cluster of stacks/Pulumi.aws-dev.yaml, as programs in other languages write it."""

pytestmark = pytest.mark.subprocess


@pytest.fixture(scope="module")
def package() -> Iterator[provider_pb2_grpc.ResourceProviderStub]:
    """Start the package as the plug-in host does."""
    command = [sys.executable, str(ROOT / "components"), "127.0.0.1:1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as plugin:
        try:
            assert plugin.stdout is not None
            with grpc.insecure_channel(f"127.0.0.1:{int(plugin.stdout.readline())}") as channel:
                yield provider_pb2_grpc.ResourceProviderStub(channel)
        finally:
            plugin.kill()


def call(
    package: provider_pb2_grpc.ResourceProviderStub, name: str, args: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the result of a function, and its failures by property."""
    request = provider_pb2.InvokeRequest(tok=f"mullion:index:{name}", args=ParseDict(args, Struct()))
    answer = package.Invoke(request, timeout=60)
    result: dict[str, Any] = MessageToDict(getattr(answer, "return"))
    return result, {each.property: each.reason for each in answer.failures}


def conforms(value: Any, kind: dict[str, Any]) -> bool:
    """Return whether a value has the type of the schema, with no property too many."""
    if "$ref" in kind:
        kind = SCHEMA["types"][kind["$ref"].removeprefix("#/types/")]
    match kind["type"]:
        case "object":
            known = set(kind["required"]) <= set(value) <= set(kind["properties"])
            return known and all(conforms(each, kind["properties"][name]) for name, each in value.items())
        case "array":
            return all(conforms(each, kind["items"]) for each in value)
        case other:
            return isinstance(value, {"string": str, "integer": float, "number": float, "boolean": bool}[other])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("plan", {"name": "aws-dev", "cluster": CLUSTER}),
        ("cost", {"name": "aws-dev", "cluster": CLUSTER, "region": "eu-west-1", "trafficGb": 10}),
        ("versions", {}),
    ],
)
def test_a_result_has_the_types_of_the_schema(
    package: provider_pb2_grpc.ResourceProviderStub, name: str, args: dict[str, Any]
) -> None:
    result, failures = call(package, name, args)
    assert failures == {}
    assert conforms(result, SCHEMA["functions"][f"mullion:index:{name}"]["outputs"])


def test_plan_has_the_machines_and_digests_of_the_stack_file(package: provider_pb2_grpc.ResourceProviderStub) -> None:
    config = stack_file_config(ROOT / "stacks" / "Pulumi.aws-dev.yaml")
    planned = plan_cluster("aws-dev", read_stack("aws-dev", config).spec)
    result, _ = call(package, "plan", {"name": "aws-dev", "cluster": CLUSTER, "region": "eu-west-1"})
    assert {each["name"]: each["address"] for each in result["machines"]} == {
        machine.name: str(machine.address) for machine in planned.machines
    }
    assert {each["name"]: (each["bundle"], each["replaceDigest"]) for each in result["pools"]} == {
        group.name: (group.bundle.sha256, group.replace_digest) for group in planned.machine_groups
    }


def test_cost_grows_with_machines_and_traffic(package: provider_pb2_grpc.ResourceProviderStub) -> None:
    def month(workers: int, traffic: float) -> float:
        pools = {**CLUSTER["pools"], "web": {**CLUSTER["pools"]["web"], "count": workers}}
        args = {"name": "a", "cluster": {**CLUSTER, "pools": pools}, "region": "eu-west-1", "trafficGb": traffic}
        result, _ = call(package, "cost", args)
        return result["month"]

    assert month(1, 0) < month(2, 0) < month(2, 100)


def test_versions_returns_one_minor(package: provider_pb2_grpc.ResourceProviderStub) -> None:
    result, _ = call(package, "versions", {"minor": "1.36"})
    assert [each["minor"] for each in result["minors"]] == ["1.36"]
    assert "1.36.4" in result["minors"][0]["patches"]


@pytest.mark.parametrize(
    ("name", "args", "path", "words"),
    [
        ("versions", {"minor": "9.9"}, "minor", "write one of 1.20"),
        ("cost", {"name": "a", "cluster": CLUSTER}, "region", "it is missing"),
        (
            "plan",
            {"name": "a", "cluster": {**CLUSTER, "contorlPlane": {}}},
            "cluster.contorlPlane",
            "did you mean contr",
        ),
        ("plan", {"name": "a", "cluster": {"cloud": "aws"}}, "cluster.kubernetes", "Missing required input"),
        ("plan", {"name": "a", "cluster": {**CLUSTER, "csi": ["efs"]}}, "cluster.csi", "not built yet"),
        (
            "plan",
            {"name": "a", "cluster": {**CLUSTER, "controlPlane": {"count": 2}}},
            "cluster.controlPlane.count",
            "odd",
        ),
        ("plan", {"cluster": CLUSTER}, "name", "it is missing"),
        ("plan", {"name": "a"}, "cluster", "it is missing"),
        ("plans", {}, "", "there is no function mullion:index:plans"),
    ],
)
def test_wrong_arguments_are_failures_with_path_and_fix(
    package: provider_pb2_grpc.ResourceProviderStub, name: str, args: dict[str, Any], path: str, words: str
) -> None:
    result, failures = call(package, name, args)
    assert result == {}
    assert words in failures[path]
