"""Blob reads with a shared access signature: Resource Manager's signing, and a store on loopback that accepts it.
Programs read status records this way, because the provider has no function for it.
"""

import hashlib
import hmac
import re
import threading
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlencode

from sandbox.azure.names import CONTAINER, STORE
from sandbox.azure.stores import bucket, shut_out
from sandbox.cloud import Place, Refusal
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services import xml
from sandbox.services.objects import newest, page

CANONICAL = re.compile(r"/blob/([a-z0-9]+)/([a-z0-9-]+)")
PERMISSIONS = re.compile(r"r?l?")
"""Parameters in the signature, in the order of the API."""
MOST = 5000
_SERVERS: dict[Path, str] = {}
"""Addresses of the stores by cloud state file: one store for each provider."""


def sign(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """storage.listStorageAccountServiceSAS, for reading a container."""
    account = _account(cloud_state, place, arguments)
    found = CANONICAL.fullmatch(arguments.get("canonicalizedResource") or "")
    if found is None or found[1] != account.inputs["accountName"] or arguments.get("resource") != "c":
        raise Refusal("InvalidValuesForRequestParameters", "canonicalizedResource: /blob/ACCOUNT/CONTAINER")
    permissions = arguments.get("permissions") or ""
    if not permissions or not PERMISSIONS.fullmatch(permissions):
        raise Refusal("InvalidValuesForRequestParameters", f"permissions: {permissions!r}, the sandbox signs r, l, rl")
    if account.inputs.get("allowSharedKeyAccess") is False:
        raise Refusal(
            "KeyBasedAuthenticationNotPermitted", "Key based authentication is not permitted on this storage account."
        )
    signed = {"sv": "2023-11-03", "sr": "c", "sp": permissions, "se": arguments["sharedAccessExpiryTime"]}
    return {"serviceSasToken": urlencode(signed | {"sig": _signature(cloud_state, account, found[2], signed)})}


def account(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """storage.getStorageAccount; its endpoint is on loopback, as an emulator's: http, account in the path."""
    known = _account(cloud_state, place, arguments)
    name = known.inputs["accountName"]
    return {"id": known.id, "name": name, "primaryEndpoints": {"blob": f"{_server(cloud_state.path)}/{name}/"}}


def _account(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> Record:
    name, group = arguments["accountName"], arguments["resourceGroupName"]
    id = f"/subscriptions/{place.account}/resourceGroups/{group}/providers/{STORE.path}/{name}"
    found = cloud_state.find(STORE.token, id)
    if found is None:
        raise Refusal(
            "ResourceNotFound", f"The Resource '{STORE.arm}/{name}' under resource group '{group}' was not found."
        )
    return found


def _signature(cloud_state: CloudState, account: Record, container: str, signed: dict[str, str]) -> str:
    key = cloud_state.digits(account.sequence, "key").encode()
    text = "\n".join((signed["sp"], signed["se"], f"/blob/{account.inputs['accountName']}/{container}", signed["sr"]))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _server(path: Path) -> str:
    if path not in _SERVERS:
        handler = type("Handler", (_Handler,), {"path_of_cloud_state": path})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        _SERVERS[path] = f"http://127.0.0.1:{server.server_port}"
    return _SERVERS[path]


class _Handler(BaseHTTPRequestHandler):
    path_of_cloud_state: ClassVar[Path]

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the engine prints a provider's standard error."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        _, account, container, *name = unquote(path).split("/", 3)
        cloud_state = CloudState(self.path_of_cloud_state)
        try:
            status, body, code = answer(cloud_state, account, container, "".join(name), dict(parse_qsl(query, True)))
        finally:
            cloud_state.close()
        self.send_response(status)
        if code:
            self.send_header("x-ms-error-code", code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def answer(
    cloud_state: CloudState, account: str, container: str, name: str, query: dict[str, str]
) -> tuple[int, bytes, str]:
    """Return status, body and error code of a GET of a blob or of a container's list."""
    store = next((one for one in cloud_state.resources(STORE.token) if one.inputs["accountName"] == account), None)
    place = bucket({"accountName": account, "containerName": container})
    signed = {key: query.get(key, "") for key in ("sp", "se", "sr")}
    if store is None or not hmac.compare_digest(
        query.get("sig", ""), _signature(cloud_state, store, container, signed)
    ):
        return 403, b"", "AuthenticationFailed"
    if datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") > signed["se"]:
        return 403, b"", "AuthenticationFailed"
    if refusal := shut_out(cloud_state, account):
        return 403, b"", refusal.code
    if ("r" if name else "l") not in signed["sp"]:
        return 403, b"", "AuthorizationPermissionMismatch"
    if not any(bucket(one.inputs) == place for one in cloud_state.resources(CONTAINER.token)):
        return 404, b"", "ContainerNotFound"
    if name:
        found = newest(cloud_state, place, name)
        return (200, found.content, "") if found else (404, b"", "BlobNotFound")
    if (query.get("restype"), query.get("comp")) != ("container", "list"):
        return 400, b"", "InvalidQueryParameterValue"
    here, more = page(cloud_state.objects(place), query.get("prefix", ""), "", query.get("marker", ""), MOST)
    listed: dict[str, Any] = {"Blobs": {"Blob": [{"Name": each} for each in here]}}
    listed["NextMarker"] = here[-1] if more else ""
    return 200, xml.document("EnumerationResults", listed), ""
