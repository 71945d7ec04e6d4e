"""Outbound requests of a machine: which use the proxy and which never do."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HOSTS: list[tuple[str, list[str], bool]] = [
    ("example.org", ["example.org"], True),
    ("Mirror.Example.org", [".example.org"], True),
    ("example.org", [".example.org"], True),
    ("badexample.org", ["example.org"], False),
    ("10.20.3.4", ["10.20.0.0/16"], True),
    ("10.21.3.4", ["10.20.0.0/16"], False),
    ("10.20.3.4", ["10.20.3.4"], True),
    ("fd00::1", ["fd00::/8"], True),
    ("example.org", ["10.20.0.0/16"], False),
    ("example.org", [], False),
]


@pytest.mark.parametrize(("host", "direct", "expected"), HOSTS)
def test_a_host_is_reached_directly_by_name_domain_or_range(
    node: ModuleType, host: str, direct: list[str], expected: bool
) -> None:
    assert importlib.import_module("web").bypassed(host, direct) is expected


FACTS = {"bundle_store": "https://b.s3.eu-west-1.amazonaws.com", "cluster": "prod", "api_url": "https://api.x:6443"}
NEVER_THROUGH_A_PROXY = [
    "http://169.254.169.254/latest", "http://localhost:1/x", "http://127.0.0.9/x",
    "https://b.s3.eu-west-1.amazonaws.com/x", "https://api.x:6443/readyz", "https://registry.corp.example/x",
]  # fmt: skip


@pytest.mark.parametrize("url", [*NEVER_THROUGH_A_PROXY, "https://dl.k8s.io/x"])
def test_the_proxy_is_not_used_for_metadata_services_and_excluded_hosts(
    node: ModuleType, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    web, run = importlib.import_module("web"), importlib.import_module("run")
    proxy = {"http": "http://p:3128", "https": "http://p:3128", "no_proxy": [".corp.example"]}
    here = run.Run(Path("/"), {"machine": {}, "facts": FACTS}, {"phases": [], "egress": {"proxy": proxy}})
    through: list[str] = []

    def proxied(self: Any, request: Any, *rest: Any) -> None:
        through.append(request.full_url)
        raise OSError("proxied")

    monkeypatch.setattr(web.ProxyHandler, "proxy_open", proxied)
    monkeypatch.setattr("socket.create_connection", lambda *args, **named: (_ for _ in ()).throw(OSError("direct")))
    with pytest.raises(OSError, match="proxied" if url not in NEVER_THROUGH_A_PROXY else "direct"):
        web.opener(here, judged=False).open(url, timeout=1)
    assert bool(through) is (url not in NEVER_THROUGH_A_PROXY)


@pytest.mark.parametrize(
    ("facts", "excluded", "by_proxy"),
    [
        ({"compute_way": "proxy"}, [], True),
        ({"compute_way": "proxy"}, [".azure.com"], False),
        ({"compute_way": "proxy", "world": "sandbox"}, [], False),
        ({}, [], False),
    ],
    ids=["closed", "excluded", "sandbox", "open"],
)
def test_services_outside_the_network_are_asked_through_the_proxy_only_without_another_way(
    node: ModuleType, monkeypatch: pytest.MonkeyPatch, facts: dict[str, str], excluded: list[str], by_proxy: bool
) -> None:
    web, run = importlib.import_module("web"), importlib.import_module("run")
    url = "https://management.azure.com/x"
    proxy = {"http": "http://p:3128", "https": "http://p:3128", "no_proxy": excluded}
    known = {"compute_service": url, **facts}
    here = run.Run(Path("/"), {"machine": {}, "facts": known}, {"phases": [], "egress": {"proxy": proxy}})
    connected: list[str] = []

    def connect(address: tuple[str, int], *args: Any, **named: Any) -> None:
        connected.append(address[0])
        raise OSError("not here")

    monkeypatch.setattr("socket.create_connection", connect)
    with pytest.raises(OSError, match="not here"):
        web.of_services(here)(web.Request(url), timeout=1)
    assert connected == ["p" if by_proxy else "management.azure.com"]


def test_services_outside_the_network_are_not_followed_elsewhere(node: ModuleType) -> None:
    web, run = importlib.import_module("web"), importlib.import_module("run")
    here = run.Run(Path("/"), {"machine": {}, "facts": {"compute_way": "proxy"}}, {"phases": []})
    handlers = web.of_services(here).__self__.handlers
    assert [type(each).__name__ for each in handlers if isinstance(each, web.HTTPRedirectHandler)] == ["Stay"]


def test_a_proxys_password_is_redacted(node: ModuleType) -> None:
    run = importlib.import_module("run")
    plan = {"phases": [], "egress": {"proxy": {"https": "http://me:hunter22@p:3128"}}}
    here = run.Run(Path("/"), {"machine": {}, "facts": {}}, plan)
    assert here.redact("407 from http://me:hunter22@p:3128") == "407 from http://me:[secret]@p:3128"
