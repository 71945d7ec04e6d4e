"""Outbound HTTP: the cluster's proxy, its additional certificate authorities, and restricted redirects."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Callable
from functools import cache
from http.client import HTTPMessage
from typing import IO, TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request, build_opener

import loader
from failure import Failure
from values import METADATA_HOST

if TYPE_CHECKING:
    from run import Run

DIRECT = (METADATA_HOST, "localhost", "127.0.0.0/8", "::1")
"""Always reached without the proxy; so are the hosts in the facts."""


class Careful(HTTPRedirectHandler):
    """Follows redirects, but never from https to http."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if urlsplit(req.full_url).scheme == "https" and urlsplit(newurl).scheme != "https":
            fp.close()
            raise Failure("redirect-refused", f"{req.full_url} redirects to {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Proxy(ProxyHandler):
    """Uses the cluster's proxy except for hosts that are reached directly."""

    def __init__(self, proxies: dict[str, str], direct: list[str]) -> None:
        super().__init__(proxies)
        self.direct = direct

    def proxy_open(self, req: Request, proxy: str, type: str) -> Any:  # noqa: A002  its name in urllib
        """Return None to let the next handler open the request directly."""
        host = urlsplit(req.full_url).hostname or ""
        return None if bypassed(host, self.direct) else super().proxy_open(req, proxy, type)


def bypassed(host: str, direct: list[str]) -> bool:
    """Return whether the host is one of these names, in one of these domains or ranges."""
    for entry in direct:
        name = entry.lstrip(".").lower()
        if host.lower() == name or host.lower().endswith(f".{name}"):
            return True
        try:
            if ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False):
                return True
        except ValueError:
            continue
    return False


@cache
def trust(authorities: str) -> ssl.SSLContext:
    """Return a TLS context that trusts the system's authorities and these PEM certificates."""
    context = ssl.create_default_context()
    if authorities:
        context.load_verify_locations(cadata=authorities)
    return context


def blind() -> ssl.SSLContext:
    """Return a TLS context that verifies no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def opener(run: Run, judged: bool = True) -> OpenerDirector:
    """Return an opener with the cluster's proxy and authorities; with `judged` False it verifies no certificate."""
    proxy: dict[str, Any] = run.egress.get("proxy", {})
    facts = [urlsplit(str(value)).hostname for value in run.told["facts"].values() if "://" in str(value)]
    direct = [*DIRECT, *proxy.get("no_proxy", ()), *(host for host in facts if host)]
    return _opener(run, direct, Careful(), judged)


def of_services(run: Run) -> Callable[..., Any]:
    """Return the function that opens requests to services of the cloud outside the machine's network.

    It follows no redirect. It connects directly, unless the fact compute_way says that only the proxy leads to them;
    the sandbox has no proxy, and answers itself.
    """
    facts, proxy = run.told["facts"], run.egress.get("proxy", {})
    if facts.get("compute_way") != "proxy" or facts.get("world") == "sandbox":
        return loader.direct
    return _opener(run, list(proxy.get("no_proxy", ())), loader.Stay(), True).open


def _opener(run: Run, direct: list[str], redirects: HTTPRedirectHandler, judged: bool) -> OpenerDirector:
    proxy: dict[str, Any] = run.egress.get("proxy", {})
    proxies = {scheme: proxy[scheme] for scheme in ("http", "https") if proxy.get(scheme)}
    context = trust("\n".join(run.egress.get("trusted_cas", ()))) if judged else blind()
    return build_opener(Proxy(proxies, direct), HTTPSHandler(context=context), redirects)


def refused_certificate(error: Exception) -> bool:
    """Return whether the error is a failed certificate verification."""
    reason = error.reason if isinstance(error, URLError) else error
    return isinstance(reason, ssl.SSLCertVerificationError)
