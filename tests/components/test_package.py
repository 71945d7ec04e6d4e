"""MixedCluster as a component package: its schema, explicit providers, and use inside other components."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import pulumi
import pulumi_aws
import pytest
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from components.cluster import MixedCluster
from components.stack_files.stack import CLUSTER, stack_file_config
from operations.recorder.recorder import Recording, record

ROOT = Path(__file__).resolve().parents[2]
CONFIG = stack_file_config(ROOT / "stacks" / "Pulumi.aws-dev.yaml")


@pytest.mark.subprocess
def test_a_copy_of_components_and_cloud_init_serves_its_schema(tmp_path: Path) -> None:
    for folder in ("components", "cloud-init"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    # as the plug-in host starts it: the package's folder and the engine's address as arguments, another work folder
    command = [sys.executable, str(tmp_path / "components"), "127.0.0.1:1"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as plugin:
        try:
            assert plugin.stdout is not None
            port = int(plugin.stdout.readline())
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                request = provider_pb2.GetSchemaRequest(version=0)
                served = provider_pb2_grpc.ResourceProviderStub(channel).GetSchema(request, timeout=20).schema
        finally:
            plugin.kill()
    assert json.loads(served) == json.loads((ROOT / "components" / "schema.json").read_text())


def recorded(program: Any) -> Recording:
    recording = record("aws-dev", CONFIG, program=program)
    assert recording.errors == []
    return recording


def test_children_and_invokes_use_the_provider_of_the_cluster() -> None:
    def program() -> None:
        mine = pulumi_aws.Provider("mine", region="eu-central-1")
        MixedCluster("aws-dev", CONFIG[CLUSTER], opts=pulumi.ResourceOptions(providers=[mine]))

    resources = [each for each in recorded(program).resources.values() if each.type.startswith("aws:")]
    assert len(resources) > 40
    assert {each.request.provider.split("::")[-2] for each in resources} == {"mine"}


def test_an_explicit_provider_replaces_the_region_in_the_config() -> None:
    def program() -> None:
        mine = pulumi_aws.Provider("mine", region="eu-central-1")
        MixedCluster("aws-dev", CONFIG[CLUSTER], opts=pulumi.ResourceOptions(providers=[mine]))

    without = {key: value for key, value in CONFIG.items() if key != "aws:region"}
    recording = record("aws-dev", without, program=program)
    assert recording.errors == []
    assert set(recording.resources) == set(recorded(program).resources)


def test_tags_have_the_whole_urn_inside_another_component() -> None:
    class Platform(pulumi.ComponentResource):
        def __init__(self) -> None:
            super().__init__("shop:index:Platform", "shop")
            MixedCluster("aws-dev", CONFIG[CLUSTER], opts=pulumi.ResourceOptions(parent=self))
            self.register_outputs({})

    resources = [resource for resource in recorded(Platform).resources.values() if "tags" in resource.inputs]
    assert len(resources) > 30
    for resource in resources:
        assert resource.inputs["tags"]["mullion:urn"] == resource.urn.replace("$", "+")
        assert "shop:index:Platform$mullion:index:MixedCluster$" in resource.urn


def test_one_program_can_build_two_clusters() -> None:
    def program() -> None:
        for name in ("blue", "green"):
            MixedCluster(name, CONFIG[CLUSTER])

    names = [each.name for each in recorded(program).resources.values() if each.type.startswith("aws:")]
    assert len(names) > 80
    assert all(name.startswith(("blue-", "green-")) for name in names)
