"""The policy pack in the real engine, started by policies/bin: aws-ci passes, and each broken rule is named."""

import gc
import os
import runpy
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi import ResourceTransformationArgs, ResourceTransformationResult
from pulumi import automation as auto

from operations.console.exits import Exit, Stop
from operations.engine import policy_preview
from operations.stacks.paths import REPOSITORY
from policies.rules import RULES
from policies.rules.exposure import FIREWALL
from policies.rules.rule import GCP_INSTANCE, INSTANCE, ResourceRule, StackRule
from sandbox.cloud_state import CloudState
from tests.engine.conftest import Stack

pytestmark = pytest.mark.engine

Transformation = Callable[[ResourceTransformationArgs], ResourceTransformationResult | None]


@dataclass(frozen=True)
class Careless:
    """A transformation that sets inputs of every resource of a type and drops `ignore_changes`; the rules it breaks."""

    type: str
    props: dict[str, Any]
    breaks: set[str]

    def __call__(self, args: ResourceTransformationArgs) -> ResourceTransformationResult | None:
        if args.type_ != self.type or all(args.props.get(name) is None for name in self.props):
            return None
        args.opts.ignore_changes = []
        return ResourceTransformationResult({**args.props, **self.props}, args.opts)


CARELESS = (
    Careless(
        INSTANCE,
        {
            "metadata_options": {"http_tokens": "optional"},
            "root_block_device": {"encrypted": False},
            "user_data": "kubeadm join --token abc12d.0123456789abcdef",
            "tags": None,
        },
        {"control-planes-kept", "metadata-hardened", "disks-encrypted", "no-secret-in-user-data", "tags-present"},
    ),
    Careless(
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
        {
            "cidr_ipv4": "0.0.0.0/0",
            "referenced_security_group_id": None,
            "ip_protocol": "tcp",
            "from_port": 22,
            "to_port": 22,
        },
        {"admin-ports-closed"},
    ),
    Careless(
        "aws:iam/rolePolicy:RolePolicy",
        {"policy": '{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'},
        {"permissions-narrow"},
    ),
    Careless(
        "aws:s3/bucketObjectv2:BucketObjectv2",
        {"source": pulumi.FileAsset(str(REPOSITORY / "README.md"))},
        {"reserves-and-priority-set"},
    ),
    Careless(
        "aws:s3/bucketObjectv2:BucketObjectv2",
        {"content": "-----BEGIN " + "PRIVATE KEY-----"},
        {"no-secret-in-objects"},
    ),
)
"""Transformations that break every resource rule of AWS."""

CARELESS_ON_GCP = (
    Careless(
        GCP_INSTANCE,
        {
            "shielded_instance_config": {"enable_secure_boot": False},
            "metadata": {"user-data": "kubeadm join --token abc12d.0123456789abcdef"},
            "labels": None,
        },
        {"control-planes-kept", "machines-shielded", "no-secret-in-user-data", "tags-present"},
    ),
    Careless(
        FIREWALL,
        {
            "source_ranges": ["0.0.0.0/0"],
            "source_service_accounts": None,
            "allows": [{"protocol": "tcp", "ports": ["22"]}],
        },
        {"admin-ports-closed"},
    ),
    Careless(
        "gcp:projects/iAMCustomRole:IAMCustomRole", {"permissions": ["compute.instances.*"]}, {"permissions-narrow"}
    ),
    Careless(
        "gcp:storage/bucketObject:BucketObject",
        {"source": pulumi.FileAsset(str(REPOSITORY / "README.md"))},
        {"reserves-and-priority-set"},
    ),
    Careless(
        "gcp:storage/bucketObject:BucketObject",
        {"content": "-----BEGIN " + "PRIVATE KEY-----"},
        {"no-secret-in-objects"},
    ),
)
NOT_THERE = {
    "aws-ci": {"volumes-encrypted", "machines-shielded"},
    "gcp-ci": {"volumes-encrypted", "disks-encrypted", "metadata-hardened"},
}
"""Rules about types of resources that a stack does not contain."""


def careless_as_a_whole(args: ResourceTransformationArgs) -> ResourceTransformationResult | None:
    """Break every stack rule."""
    props, opts = dict(args.props), args.opts
    if args.type_ == INSTANCE:
        props["ami"], opts.protect = "ami-0123456789abcdef0", False
        opts.depends_on = None
    elif args.type_.endswith(":BucketServerSideEncryptionConfiguration"):
        props["bucket"] = "another"
    elif args.type_.endswith(":SecurityGroupIngressRule"):
        props |= {"cidr_ipv4": "198.51.100.0/24", "referenced_security_group_id": None}
    return ResourceTransformationResult(props, opts)


def open_stores(args: ResourceTransformationArgs) -> ResourceTransformationResult | None:
    """Allow public ACLs on the stores."""
    closed = args.type_.endswith(":BucketPublicAccessBlock")
    return ResourceTransformationResult({**args.props, "block_public_acls": False}, args.opts) if closed else None


def elsewhere(args: ResourceTransformationArgs) -> ResourceTransformationResult | None:
    """Give every control plane another key pair, which replaces the machine on AWS."""
    machine = args.type_ == INSTANCE and "control-plane" in args.name
    return ResourceTransformationResult({**args.props, "key_name": "operators"}, args.opts) if machine else None


def late(args: ResourceTransformationArgs) -> ResourceTransformationResult | None:
    """Put a secret into user-data whose value is known only during `up`, since it contains the name of a store."""
    if args.type_ != INSTANCE:
        return None
    user_data = pulumi.Output.from_input(args.props["user_data"]).apply("{}\n# --token abc12d.0123456789abcdef".format)
    return ResourceTransformationResult({**args.props, "user_data": user_data}, args.opts)


@pytest.fixture
def stack(engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., auto.Stack]:
    """Return `stack(name, careless)`, which opens a stack of this repository in a sandbox of its own."""
    monkeypatch.setenv("PATH", f"{engine.path.parent}{os.pathsep}{os.environ['PATH']}")
    for variable, value in policy_preview.environment().items():
        monkeypatch.setenv(variable, value)

    def open_stack(name: str, careless: Iterable[Transformation] = (), **fields: Any) -> auto.Stack:
        def program() -> None:
            for transformation in careless:
                pulumi.runtime.register_stack_transformation(transformation)
            runpy.run_path(str(REPOSITORY / "__main__.py"))

        opened = Stack(name, tmp_path)
        opened.edit(**fields)
        opened._stack.workspace.program = program
        return opened._stack

    return open_stack


def names(*kinds: type) -> set[str]:
    return {each.name for each in RULES if isinstance(each, kinds)}


def refusal(run: auto.Stack) -> str:
    with pytest.raises(Stop) as stop:
        policy_preview.check(run.name, run, lambda _: None)
    assert stop.value.code is Exit.REFUSED
    return str(stop.value)


def test_the_engine_loads_the_pack_and_reports_no_violation_of_aws_ci(stack: Callable[..., auto.Stack]) -> None:
    run, output = stack("aws-ci"), list[str]()
    broken: list[auto.PolicyEvent] = []

    def hear(event: auto.EngineEvent) -> None:
        if event.policy_event:
            broken.append(event.policy_event)

    policy_preview.check("aws-ci", run, hear)
    run.up(on_event=hear, on_output=output.append, color="never", policy_packs=policy_preview.PACKS)
    assert broken == []
    assert any("mullion@v0.1.0" in line for line in output), "the engine prints the packs it ran"


@pytest.mark.parametrize(
    ("name", "careless"),
    [("aws-ci", CARELESS), pytest.param("gcp-ci", CARELESS_ON_GCP, marks=pytest.mark.soak)],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_preview_names_every_broken_resource_rule(
    stack: Callable[..., auto.Stack], name: str, careless: tuple[Careless, ...]
) -> None:
    text = refusal(stack(name, careless))
    expected = {rule for each in careless for rule in each.breaks}
    assert expected == names(ResourceRule) - NOT_THERE[name]
    assert {each for each in names(object) if f"[{each}]" in text} >= expected, text
    assert "abc12d" not in text


def test_a_preview_names_every_broken_stack_rule(stack: Callable[..., auto.Stack]) -> None:
    text = refusal(stack("aws-prod", [careless_as_a_whole]))
    # opening every rule of the firewall also opens the ports of etcd and the kubelet, which a rule for resources finds
    named = {rule for rule in names(object) if f"[{rule}]" in text}
    assert named == names(StackRule) | {"admin-ports-closed"}, text


def test_pulumi_preview_fails_with_the_name_of_the_rule(stack: Callable[..., auto.Stack]) -> None:
    run = stack("aws-ci", [open_stores])
    with pytest.raises(auto.CommandError, match="stores-encrypted"):
        run.preview(on_output=lambda _: None, color="never", policy_packs=policy_preview.PACKS)


def test_a_preview_that_replaces_all_control_planes_is_refused_and_names_them(
    stack: Callable[..., auto.Stack],
) -> None:
    careless = list[Transformation]()
    run = stack("aws-prod", careless, protect=None)
    run.up(on_output=lambda _: None)
    careless.append(elsewhere)
    text = refusal(run)
    assert all(f"aws-prod-control-plane-{index} (replaced)" in text for index in range(3)), text
    assert "[control-planes-together]" in text


def test_up_refuses_a_secret_unknown_in_preview_before_the_machine_is_created(
    stack: Callable[..., auto.Stack], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stack("aws-ci", [late])
    policy_preview.check("aws-ci", run, lambda _: None)
    with pytest.raises(auto.CommandError, match="no-secret-in-user-data") as refused:
        run.up(on_output=lambda _: None, color="never", policy_packs=policy_preview.PACKS)
    assert "abc12d" not in str(refused.value)
    assert CloudState(tmp_path / "world.db").resources(INSTANCE) == []
    # collect the interrupted program here: its clean-up raises, and would fail a later test
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    gc.collect()
