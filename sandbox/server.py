"""Server of the engine's provider protocol (gRPC) for a Provider.

It does not use pulumi.provider.experimental, which does not pass the old inputs to Diff, cannot send unknown values,
and puts a Python stack trace into each refusal.
"""

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc
from pulumi.runtime.proto import provider_pb2 as proto

from sandbox.cloud import Refusal
from sandbox.faults import DEATH
from sandbox.provider import Provider
from sandbox.shapes import Failure
from sandbox.values import decode_map, encode_map

MESSAGE_LIMIT = 400 * 1024 * 1024
"""Bytes of a message, as in the engine."""
THREADS = 32
ENGINE_CHECK_SECONDS = 0.5
"""Seconds between checks that the engine runs."""
KINDS = {"add": proto.PropertyDiff.ADD, "delete": proto.PropertyDiff.DELETE, "update": proto.PropertyDiff.UPDATE}
REPLACING = {
    "add": proto.PropertyDiff.ADD_REPLACE,
    "delete": proto.PropertyDiff.DELETE_REPLACE,
    "update": proto.PropertyDiff.UPDATE_REPLACE,
}


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Converts messages of the protocol to calls of the provider; a Refusal becomes the call's error text."""

    def __init__(self, provider: Provider, version: str) -> None:
        self.provider = provider
        self.version = version
        self.lock = threading.Lock()
        provider.pause = self._pause

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802 (the protocol's names)
        return plugin_pb2.PluginInfo(version=self.version)

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()

    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        failures = self.provider.configure(decode_map(request.news))
        return proto.CheckResponse(inputs=request.news, failures=_failures(failures))

    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Return that a changed region replaces the provider, and with it all its resources."""
        old, new = decode_map(request.old_inputs or request.olds), decode_map(request.news)
        moved = old.get("region") != new.get("region")
        changes = proto.DiffResponse.DIFF_SOME if old != new else proto.DiffResponse.DIFF_NONE
        return proto.DiffResponse(
            changes=changes, replaces=["region"] if moved else [], diffs=["region"] if moved else []
        )

    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802
        failures = self.provider.configure(decode_map(request.args))
        if failures:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, failures[0].reason)
        return proto.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        old, new = decode_map(request.olds), decode_map(request.news)
        inputs, failures = self.provider.check(request.urn, old, new, request.randomSeed)
        return proto.CheckResponse(inputs=encode_map(inputs), failures=_failures(failures))

    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        difference = self.provider.diff(request.urn, decode_map(request.old_inputs), decode_map(request.news))
        detailed = {
            path: proto.PropertyDiff(kind=(REPLACING if path in difference.replaces else KINDS)[kind], inputDiff=True)
            for path, kind in difference.changes.items()
        }
        return proto.DiffResponse(
            changes=proto.DiffResponse.DIFF_SOME if detailed else proto.DiffResponse.DIFF_NONE,
            replaces=_properties(difference.replaces),
            diffs=_properties(difference.changes),
            detailedDiff=detailed,
            hasDetailedDiff=True,
            deleteBeforeReplace=difference.delete_first,
        )

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self.lock, _refusals("creating", request.urn, context):
            id, outputs = self.provider.create(request.urn, decode_map(request.properties), preview=request.preview)
        return proto.CreateResponse(id=id, properties=encode_map(outputs))

    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        state, given = decode_map(request.properties), decode_map(request.inputs)
        with self.lock, _refusals("reading", request.urn, context):
            resource = self.provider.read(request.urn, request.id, state, given)
        if resource is None:
            return proto.ReadResponse()
        inputs, outputs = resource
        return proto.ReadResponse(id=request.id, inputs=encode_map(inputs), properties=encode_map(outputs))

    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self.lock, _refusals("updating", request.urn, context):
            olds, news = decode_map(request.olds), decode_map(request.news)
            outputs = self.provider.update(request.urn, request.id, olds, news, preview=request.preview)
        return proto.UpdateResponse(properties=encode_map(outputs))

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self.lock, _refusals("deleting", request.urn, context):
            self.provider.delete(request.urn, request.id, decode_map(request.properties))
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self.lock, _refusals("reading", request.tok, context):
            result = self.provider.invoke(request.tok, decode_map(request.args))
        answer: dict[str, Any] = {"return": encode_map(result)}  # `return` is a keyword of Python
        return proto.InvokeResponse(**answer)

    def _pause(self, seconds: float) -> None:
        """Wait without the lock, so that a slow call does not block others."""
        self.lock.release()
        try:
            time.sleep(seconds)
        finally:
            self.lock.acquire()


@contextmanager
def _refusals(doing: str, urn: str, context: Any) -> Iterator[None]:
    """Convert a Refusal to the call's error with the resource: `creating Subnet a: InvalidSubnet.Range: ...`."""
    try:
        yield
    except Refusal as refusal:
        parts = urn.split("::")
        name = f"{parts[-2].rsplit(':', 1)[-1]} {parts[-1]}" if len(parts) > 1 else urn
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"{doing} {name}: {refusal}")


def _properties(paths: Iterable[str]) -> list[str]:
    """Return the top-level properties of paths, which the real provider sends beside the detailed paths."""
    return list(dict.fromkeys(re.split(r"[.\[]", path)[0] for path in paths))


def _failures(failures: list[Failure]) -> list[Any]:
    return [proto.CheckFailure(property=failure.property, reason=failure.reason) for failure in failures]


def serve(provider: Provider, version: str, engine: int) -> None:
    """Serve on a free local port until the engine sends SIGINT; print the port to standard output for the engine.

    engine: process id of the parent. If it was killed, this process ends: no state would record further resources.
    """
    options = [("grpc.max_receive_message_length", MESSAGE_LIMIT), ("grpc.max_send_message_length", MESSAGE_LIMIT)]
    # There is one cloud state and calls take 1 to 2 ms, so the lock runs one call at a time, except slow calls.
    server = grpc.server(ThreadPoolExecutor(max_workers=THREADS), options=options)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(provider, version), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with suppress(KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        while os.getppid() == engine:
            time.sleep(ENGINE_CHECK_SECONDS)
        os._exit(DEATH)
