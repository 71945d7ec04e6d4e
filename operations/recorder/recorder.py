"""Records what the Pulumi program registers, without an engine, a cloud or the network.

`record` runs the program against a monitor in this process, which answers with the ids, ARNs and host names of
cloud_answers.py. `plan --resources` counts the resources; tests check every parent, option and secret.
"""

import asyncio
import inspect
import json
import runpy
from collections.abc import Callable, Iterable, Mapping
from contextvars import Context
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import pulumi
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime import Settings, configure, set_all_config, settings
from pulumi.runtime.proto import engine_pb2, resource_pb2
from pulumi.runtime.stack import run_in_stack

from components import clouds
from components.stack_files.stack import CLUSTER
from operations.recorder import cloud_answers, network_answers
from operations.recorder.lean import lean
from operations.stacks.paths import REPOSITORY
from sandbox.values import decode, decode_map, encode

PROJECT = "mullion"
STASH = "pulumi:index:Stash"
STACK = "pulumi:pulumi:Stack"

FEATURES = (
    resource_pb2.RESOURCE_MONITOR_FEATURE_SECRETS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_ALIAS_SPECS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_REPLACEMENT_TRIGGER,
    resource_pb2.RESOURCE_MONITOR_FEATURE_DELETED_WITH,
    resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_HOOKS,
)
"""The engine's features except output values: without those, inputs arrive as plain values."""


class Key(NamedTuple):
    """Identity of a resource across runs."""

    parent: str
    type: str
    name: str


@dataclass(frozen=True)
class Registered:
    """One registered resource. request: the engine's request, with every option."""

    urn: str
    request: Any
    given: dict[str, struct_pb2.Struct] = field(repr=False)

    @property
    def key(self) -> Key:
        return Key(self.request.parent, self.request.type, self.request.name)

    @property
    def type(self) -> str:
        return self.request.type

    @property
    def name(self) -> str:
        return self.request.name

    @property
    def parent(self) -> str:
        """URN of the parent; empty for the stack alone."""
        return self.request.parent

    @property
    def custom(self) -> bool:
        """Whether a provider creates it; False for components."""
        return self.request.custom

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """Inputs by the provider's names; values may be Secret, Asset or UNKNOWN of sandbox.values."""
        return decode_map(self.request.object)

    @cached_property
    def outputs(self) -> dict[str, Any] | None:
        """Outputs that a component registered (register_outputs), values as in `inputs`; None if it registered none."""
        return decode_map(self.given[self.urn]) if self.urn in self.given else None

    @property
    def ignore_changes(self) -> list[str]:
        return list(self.request.ignoreChanges)

    @property
    def delete_before_replace(self) -> bool:
        return self.request.deleteBeforeReplace

    @property
    def replacement_trigger(self) -> Any:
        return decode(self.request.replacement_trigger) if self.request.HasField("replacement_trigger") else None

    @property
    def dependencies(self) -> frozenset[str]:
        """URNs of its dependencies, through inputs or depends_on."""
        return frozenset(self.request.dependencies)

    @property
    def property_dependencies(self) -> dict[str, frozenset[str]]:
        """URNs by the input that refers to them."""
        return {name: frozenset(each.urns) for name, each in self.request.propertyDependencies.items()}

    @property
    def protect(self) -> bool:
        return self.request.protect

    @property
    def retain_on_delete(self) -> bool:
        return self.request.retainOnDelete

    @property
    def additional_secret_outputs(self) -> list[str]:
        return list(self.request.additionalSecretOutputs)


@dataclass(frozen=True)
class Recording:
    """One run of the program. Its refusals (RunError) are in `errors`; every other exception is raised."""

    resources: dict[Key, Registered] = field(default_factory=dict)
    """All resources except the stack itself, in the order of their registration."""
    outputs: dict[str, Any] = field(default_factory=dict)
    """The stack's outputs, values as in Registered.inputs."""
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def begun(program: Callable[[], Any]) -> None:
    """Run a program, and let its registrations start before the SDK waits for them.

    Otherwise the SDK waits for outputs one by one and scans all of them each time, which takes quadratic time
    (pulumi.runtime.stack.wait_for_rpcs).
    """
    result = program()
    if inspect.isawaitable(result):
        await result
    await asyncio.sleep(0)


async def program() -> None:
    """Run the repository's __main__.py as the engine's language host does, without unused data (`lean`)."""
    lean()
    await begun(lambda: runpy.run_path(str(REPOSITORY / "__main__.py")))


def record(
    name: str, config: Mapping[str, Any], *, preview: bool = False, program: Callable[[], Any] = program
) -> Recording:
    """Run the program for a stack and return everything it registered.

    config: plain values by full key, as `stack_file_config` returns them. preview: computed outputs stay unknown.
    """
    return Context().run(_record, name, config, preview, program)


def _record(name: str, config: Mapping[str, Any], preview: bool, program: Callable[[], Any]) -> Recording:
    recording = Recording()
    keys = [facts.region_key for facts in clouds.CLOUDS.values()]
    region = next((str(config[key]) for key in keys if config.get(key)), "")
    monitor = _Monitor(name, region, preview, recording)
    cluster = config.get(CLUSTER)
    monitor.answers = network_answers.answers(name, cluster) if isinstance(cluster, Mapping) else {}
    configure(Settings(PROJECT, name, monitor, _Engine(recording), dry_run=preview, root_directory=str(REPOSITORY)))
    settings.SETTINGS.callbacks = _Hooks()  # type: ignore[assignment]  # otherwise the SDK starts a server for hooks
    set_all_config({key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()})
    loop = _Loop()
    # the error is raised below; each task that waited for the resource would log it again
    loop.set_exception_handler(lambda *_: None)
    try:
        loop.run_until_complete(run_in_stack(partial(begun, program)))
    except pulumi.RunError as refusal:
        recording.errors.append(str(refusal))
    finally:
        loop.run_until_complete(_cancel(asyncio.all_tasks(loop)))
        loop.close()
    monitor.finish()
    return recording


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel the tasks that an error left unfinished."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Loop(asyncio.SelectorEventLoop):
    """An event loop without threads, because this process answers at once."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        answer = self.create_future()
        try:
            answer.set_result(func(*args))
        except Exception as error:
            answer.set_exception(error)
        return answer


class _Monitor:
    """The engine's resource monitor; method names are the protocol's."""

    answers: network_answers.Answers = MappingProxyType({})
    """Answers to lookups of the stack's own network."""

    def __init__(self, stack: str, region: str, preview: bool, recording: Recording) -> None:
        self._region, self._preview, self._recording = region, preview, recording
        self._prefix, self._given = f"urn:pulumi:{stack}::{PROJECT}::", {}
        self._stack = f"{self._prefix}{STACK}::{PROJECT}-{stack}"

    def finish(self) -> None:
        if self._stack in self._given:
            self._recording.outputs.update(decode_map(self._given[self._stack]))

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        if request.type == STACK:
            return resource_pb2.RegisterResourceResponse(urn=self._stack)
        urn = self._urn(request)
        registered = Registered(urn, request, self._given)
        if self._recording.resources.setdefault(registered.key, registered) is not registered:
            raise pulumi.RunError(f"{request.name} ({request.type}) is registered twice: {urn}; rename one of them")
        response = resource_pb2.RegisterResourceResponse(urn=urn)
        if self._preview:
            response.object.CopyFrom(request.object)
        if request.type == STASH:
            response.object.fields["output"].CopyFrom(request.object.fields["input"])
        if request.custom and not self._preview:
            made = cloud_answers.computed(request.type, request.name, urn, self._region, request.object.fields)
            response.id = made["id"]
            for key, value in made.items():
                response.object.fields[key].CopyFrom(encode(value))
        for key, value in cloud_answers.RESHAPED.get(request.type, {}).items():
            response.object.fields[key].CopyFrom(encode(value))
        return response

    def _urn(self, request: Any) -> str:
        types = request.parent.split("::")[2] if request.parent else STACK
        return f"{self._prefix}{request.type if types == STACK else f'{types}${request.type}'}::{request.name}"

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802
        self._given[request.urn] = request.outputs
        return empty_pb2.Empty()

    def Invoke(self, request: Any) -> Any:  # noqa: N802
        answer = cloud_answers.invoked(request.tok, self._region, decode_map(request.args), self.answers)
        fields: dict[str, Any] = {"return": encode(answer).struct_value}
        return resource_pb2.ResourceInvokeResponse(**fields)

    def GetDeploymentInfo(self, request: Any) -> Any:  # noqa: N802
        return resource_pb2.DeploymentInfo(supportedFeatures=FEATURES)

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        # other calls, such as hooks, get an empty answer, as from the engine
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda request: empty_pb2.Empty()


class _Hooks:
    """Accepts the program's hooks; nothing calls them."""

    def register_resource_hook(self, hook: pulumi.ResourceHook) -> None:
        pass


class _Engine:
    """Records errors and warnings that the program logs."""

    def __init__(self, recording: Recording) -> None:
        self._heard = {engine_pb2.ERROR: recording.errors, engine_pb2.WARNING: recording.warnings}

    def Log(self, request: Any) -> Any:  # noqa: N802
        self._heard.get(request.severity, []).append(request.message)
        return empty_pb2.Empty()
