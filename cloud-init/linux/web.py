"""The way out for what is not the cloud's own: the cluster's proxy, its extra authorities, careful redirects."""

import ipaddress
import ssl
from functools import cache
from http.client import HTTPMessage
from typing import IO, Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request, build_opener

from failure import Failure
from run import Run
from values import METADATA_HOST

DIRECT = (METADATA_HOST, "localhost", "127.0.0.0/8", "::1")
"""Reached without the proxy, whatever the cluster says; and so are the hosts of all facts."""


class Careful(HTTPRedirectHandler):
    """Follows redirects, but never from https to something that anyone on the way can change."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if urlsplit(req.full_url).scheme == "https" and urlsplit(newurl).scheme != "https":
            fp.close()
            raise Failure("redirect-refused", f"{req.full_url} sends to {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Proxy(ProxyHandler):
    """The cluster's proxy, but for hosts that are reached directly."""

    def __init__(self, proxies: dict[str, str], direct: list[str]) -> None:
        super().__init__(proxies)
        self.direct = direct

    def proxy_open(self, req: Request, proxy: str, type: str) -> Any:  # noqa: A002  its name in urllib
        """None lets the next handler open it as it is."""
        host = urlsplit(req.full_url).hostname or ""
        return None if bypassed(host, self.direct) else super().proxy_open(req, proxy, type)


def bypassed(host: str, direct: list[str]) -> bool:
    """The host is one of these names, below one of these domains, or in one of these ranges."""
    for each in direct:
        name = each.lstrip(".").lower()
        if host.lower() == name or host.lower().endswith(f".{name}"):
            return True
        try:
            if ipaddress.ip_address(host) in ipaddress.ip_network(each, strict=False):
                return True
        except ValueError:
            continue
    return False


@cache
def trust(authorities: str) -> ssl.SSLContext:
    """What the system trusts, and these PEM certificates."""
    context = ssl.create_default_context()
    if authorities:
        context.load_verify_locations(cadata=authorities)
    return context


def blind() -> ssl.SSLContext:
    """Judges no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def opener(run: Run, judged: bool = True) -> OpenerDirector:
    """Opens URLs as the cluster says; `judged` False: no certificate is judged."""
    proxy: dict[str, Any] = run.egress.get("proxy", {})
    proxies = {scheme: proxy[scheme] for scheme in ("http", "https") if proxy.get(scheme)}
    facts = [urlsplit(str(value)).hostname for value in run.told["facts"].values() if "://" in str(value)]
    direct = [*DIRECT, *proxy.get("no_proxy", ()), *(host for host in facts if host)]
    context = trust("\n".join(run.egress.get("trusted_cas", ()))) if judged else blind()
    return build_opener(Proxy(proxies, direct), HTTPSHandler(context=context), Careful())


def refused_certificate(error: Exception) -> bool:
    """A certificate was the reason."""
    reason = error.reason if isinstance(error, URLError) else error
    return isinstance(reason, ssl.SSLCertVerificationError)
