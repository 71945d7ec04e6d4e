"""Static websites: everybody reads what is in `$web`, and nobody writes there by this address.

Sources: "Static website hosting in Azure Storage"; Blob service error codes.
"""

from dataclasses import dataclass

from sandbox.azure import websites
from sandbox.azure.names import WEB
from sandbox.cloud_state import CloudState
from sandbox.services.calls import Answer, Call, Codes, Refused, worded
from sandbox.services.objects import newest

CODES: Codes = {
    "throttled": (503, "ServerBusy"),
    "failed": (500, "InternalError"),
    "WebContentNotFound": (404, "WebContentNotFound"),
    "UnsupportedHttpVerb": (405, "UnsupportedHttpVerb"),
}


@dataclass(frozen=True)
class Websites:
    """The websites of one cloud state."""

    cloud_state: CloudState

    def answer(self, call: Call, account: str, key: str) -> Answer:
        """Answer a read of a file. Raises Refused."""
        if call.method not in ("GET", "HEAD"):
            raise Refused("UnsupportedHttpVerb", "The resource doesn't support specified Http Verb.")
        content, kind, etag = self.file(account, key)
        return Answer(200, content, {"content-type": kind, "etag": f'"{etag}"'})

    def file(self, account: str, key: str) -> tuple[bytes, str, str]:
        """Return content, content type and entity tag of a file. Raises Refused if the public cannot read it."""
        found = newest(self.cloud_state, f"{account}/{WEB}", key) if websites.site(self.cloud_state, account) else None
        if found is None:
            raise Refused("WebContentNotFound", "The requested content does not exist.")
        return found.content, found.content_type, found.etag


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal as a website shows it, and its code."""
    status, code = worded(refused, CODES)
    page = f"<!DOCTYPE html><html><head><title>{code}</title></head><body><h1>{refused.message}</h1></body></html>"
    return Answer(status, page.encode(), {"content-type": "text/html", "x-ms-error-code": code}), code
