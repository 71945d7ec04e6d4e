"""A throw-away stack that contains the generated secrets, on the real engine, with machines of a test's own."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
from pulumi import automation as auto

from components.rollout.authority_gate import AuthorityGate, Follower
from components.rollout.issuer_gate import IssuerGate
from components.rollout.provider_calls import NO_RECORD
from components.rollout.workers import Instances
from components.spec.choices import TokenIssuer
from components.spec.models import Rotation
from components.wiring.kept_secrets import Generated

ISSUER = "https://ci-issuer.s3.eu-west-1.amazonaws.com"
URL = "https://api.ci.mullion.internal:6443"
OUTPUTS = {  # output -> whether it is secret
    "ca_certificate": False,
    "ca_hash": False,
    "control_plane_secret": True,
    "desired_state_key": True,
    "administrator": True,
    "kubeconfig": True,
    "suffix": False,
}


@dataclass(frozen=True)
class Run:
    """The result of one `up`: its outputs, the operations by resource name, and the state file."""

    outputs: dict[str, Any]
    operations: dict[str, str]
    state: dict[str, Any]

    @property
    def files(self) -> dict[str, Any]:
        """The parsed secret of the control plane: file name -> content."""
        return json.loads(self.outputs["control_plane_secret"])


class Cloud:
    """A cloud with machines by address, and their status records."""

    def __init__(self) -> None:
        self.running: dict[str, str] = {}
        self.stopped: dict[str, str] = {}
        self.records: dict[str, dict[str, Any]] = {}

    async def known(self) -> bool:
        return True

    async def instances(self, pool: str = "") -> Instances:
        return Instances(self.running, self.stopped)

    async def record(self, identity: str, instance: str) -> dict[str, Any]:
        return self.records.get(instance) or {"state": "absent", "message": NO_RECORD}


class Lab:
    """A throw-away stack that contains `Generated`, on the real engine and a file backend."""

    cloud: Cloud
    followers: Sequence[Follower] = ()
    issuer: TokenIssuer | None = None
    """Step of the public issuer of service-account tokens; None: the cluster has none."""

    def __init__(self, folder: Path) -> None:
        self.cloud = Cloud()
        backend = folder / "backend"
        backend.mkdir()
        environment = {
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": backend.as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": "only for this test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        }
        settings = auto.ProjectSettings("tried", "python", backend=auto.ProjectBackend(backend.as_uri()))
        options = auto.LocalWorkspaceOptions(
            work_dir=str(folder), env_vars=environment, pulumi_home=str(folder / "home"), project_settings=settings
        )
        self.stack = auto.create_or_select_stack("ci", project_name="tried", program=lambda: None, opts=options)
        self._state = backend / ".pulumi" / "stacks" / "tried" / "ci.json"
        self.log: list[str] = []
        """The engine's events and output in all runs."""

    def _listen(self, operations: dict[str, str]) -> Callable[[auto.EngineEvent], None]:
        def on_event(event: auto.EngineEvent) -> None:
            self.log.append(json.dumps(event, default=lambda each: getattr(each, "__dict__", None) or str(each)))
            step = event.resource_pre_event.metadata if event.resource_pre_event else None
            if step and step.op in {"create", "update", "replace", "delete"} and "pulumi:providers" not in step.urn:
                operations[step.urn.split("::")[-1]] = step.op

        return on_event

    def preview(self, **rotation: int) -> dict[str, str]:
        """Preview with these generations; return the operations by resource name."""
        operations: dict[str, str] = {}
        self.stack.workspace.program = self.program(rotation)
        self.stack.preview(on_event=self._listen(operations), on_output=self.log.append)
        return operations

    def up(self, **rotation: int) -> Run:
        """Run `up` with these generations."""
        operations: dict[str, str] = {}
        self.stack.workspace.program = self.program(rotation)
        result = self.stack.up(on_event=self._listen(operations), on_output=self.log.append)
        for name, secret in OUTPUTS.items():
            assert result.outputs[name].secret == secret, f"{name} is secret: {secret}"
        found = {name: result.outputs[name].value for name in (*OUTPUTS, "published_keys")}
        return Run(found, operations, self.state())

    def program(self, rotation: dict[str, int]) -> Callable[[], None]:
        """Return the program with these generations."""

        def run() -> None:
            number = rotation.get("certificate_authorities", 0)
            gate = AuthorityGate("ci", number, self.followers, simulated=False)
            generated = Generated("ci", cluster="ci", rotation=Rotation(**rotation), gate=gate, ahead=bool(self.issuer))
            if self.issuer:
                planes = sum(each.control_plane for each in self.followers)
                step = IssuerGate("ci", self.issuer, planes, gate)
                step.permitted(generated.begins, pulumi.Output.from_input(ISSUER), generated)
            pulumi.export("published_keys", generated.published_keys)
            gate.open(self.cloud)
            for name in OUTPUTS:
                value = getattr(generated, name)
                pulumi.export(name, value(URL, "api.ci.mullion.internal") if name == "kubeconfig" else value)

        return run

    def state(self) -> dict[str, Any]:
        """Return the state file, in which secrets are encrypted."""
        return json.loads(self._state.read_text())


def stashes(state: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the Stashes of a state by name."""
    listed = state["checkpoint"]["latest"]["resources"]
    return {each["urn"].split("::")[-1]: each for each in listed if each["type"] == "pulumi:index:Stash"}
