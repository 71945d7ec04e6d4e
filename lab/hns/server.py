"""The emulator's socket: one call per connection, as lab/hns/ask.h sends it."""

import json
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.hns import endpoints, first_api, host, load_balancers, namespaces, networks
from lab.hns.errors import Code, HnsError
from lab.hns.service import Object, Service

PORT_FILE = "drive_c/windows/hns-port"
"""File of a machine in which the DLLs find the port."""

KINDS: Mapping[str, Any] = {
    "Network": networks,
    "Endpoint": endpoints,
    "Namespace": namespaces,
    "LoadBalancer": load_balancers,
}
"""Kind of object -> the module with its create, modify and delete."""

READS = ("Enumerate", "Open", "Query")
"""First words of functions that change nothing."""


def handle(service: Service, words: Sequence[str]) -> tuple[int, str, str]:
    """Return HRESULT, value and error record of a call: a function's name and its arguments."""
    service.answers.wait()
    with service.lock:
        service.calls.append(tuple(words))
        try:
            value = _value(service, *words)
            if not words[0].startswith(READS) and words[:2] != ("HNSCall", "GET"):
                service.changed()
            return 0, value, ""
        except HnsError as error:
            service.refusals.append(str(error))
            return error.hresult, "", error.record()


def _value(service: Service, function: str, *words: str) -> str:
    if function == "HNSCall":
        method, path, request = words
        return first_api.call(service, method, path, request)
    if function.endswith("ComputeSystem"):
        return _compute_system(service, function, *words)
    for kind, module in KINDS.items():
        if function.endswith((kind, f"{kind}s", f"{kind}Properties")):
            return _hcn(service, kind, module, function.partition(kind)[0], words)
    raise HnsError(Code.UNSUPPORTED, function)


def _compute_system(service: Service, function: str, name: str, settings: str = "") -> str:
    """Describe a container of Docker that runs; add or remove an endpoint (hcsshim hnsendpoint.go)."""
    if name not in service.containers:
        raise HnsError(Code.NO_COMPUTE_SYSTEM, name)
    if function == "ModifyComputeSystem":
        request = json.loads(settings)
        endpoint = service.get("Endpoint", request["Settings"])["ID"]
        attached = service.containers[name]
        attached.discard(endpoint) if request.get("RequestType") == "Remove" else attached.add(endpoint)
    return json.dumps({"Id": name, "SystemType": "Container", "Owner": "docker", "State": "Running"})


def _hcn(service: Service, kind: str, module: Any, verb: str, words: Sequence[str]) -> str:
    first, second, third = (*words, "", "", "")[:3]
    acts: dict[str, Callable[[], str]] = {
        "Enumerate": lambda: json.dumps([each["ID"] for each in service.find(kind, first)]),
        "Open": lambda: service.get(kind, second)["ID"],
        "Create": lambda: _create(service, kind, module, first, second, third)["ID"],
        "Query": lambda: json.dumps(_shown(service.get(kind, first))),
        "Modify": lambda: module.modify(service, first, second) or "",
        "Delete": lambda: module.delete(service, first) or "",
    }
    return acts[verb]()


def _create(service: Service, kind: str, module: Any, parent: str, guid: str, settings: str) -> Object:
    return module.create(service, *([parent] if kind == "Endpoint" else []), guid, settings)


def _shown(document: Object) -> Object:
    return {key: value for key, value in document.items() if not key.startswith("_")}


class _Call(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        (size,) = struct.unpack("<I", self._exactly(4))
        words = self._exactly(size).decode("utf-16-le").split("\0")
        code, *texts = handle(self.server.service, words)  # type: ignore[attr-defined]
        encoded = [text.encode("utf-16-le") for text in texts]
        self.wfile.write(struct.pack("<I", code) + b"".join(struct.pack("<I", len(each)) + each for each in encoded))

    def _exactly(self, count: int) -> bytes:
        read = self.rfile.read(count)
        if len(read) < count:
            raise ConnectionError(f"{len(read)} bytes instead of {count}")
        return read


@contextmanager
def serving(service: Service, machine: Path) -> Iterator[None]:
    """Load the objects from the machine's disk, and serve its calls while this context is open."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Call) as server:
        server.daemon_threads = True
        server.service = service  # type: ignore[attr-defined]
        host.restore(service, machine)
        service.changed = lambda: host.write(service, machine)
        service.changed()
        place = machine / PORT_FILE
        place.write_text(str(server.server_address[1]), encoding="ascii")
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            place.unlink(missing_ok=True)
            server.shutdown()
            thread.join()
