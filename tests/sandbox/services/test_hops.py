"""The metadata service's hop limit, in network namespaces: a pod is one router further away than its machine."""

import os
from collections.abc import Callable, Iterator
from typing import NoReturn
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from lab.linuxnode import network
from lab.linuxnode.image import lacking
from sandbox import tamper
from sandbox.boot.network_namespaces import within
from tests.sandbox.services.conftest import ServedAccount

pytestmark = pytest.mark.subprocess


@pytest.fixture
def net(missing: Callable[[str, str], NoReturn]) -> Iterator[str]:
    """A network with one machine, and a pod behind it."""
    if why := lacking():
        missing("linuxnode", why)
    name = f"hops{os.getpid()}"
    network.up(name, "10.91.0.0/24")
    try:
        network.add(name, "m", "10.91.0.4")
        network.run("netns", "add", f"{name}-pod")
        network.run(
            "-n", f"{name}-m", "link", "add", "p", "type", "veth", "peer", "name", "eth0", "netns", f"{name}-pod"
        )
        for space, link, address in ((f"{name}-m", "p", "10.244.9.1/24"), (f"{name}-pod", "eth0", "10.244.9.2/24")):
            network.run("-n", space, "addr", "add", address, "dev", link)
            network.run("-n", space, "link", "set", link, "up")
        network.run("-n", f"{name}-pod", "route", "add", "default", "via", "10.244.9.1")
        network.run("-n", name, "route", "add", "10.244.9.0/24", "via", "10.91.0.4")
        yield name
    finally:
        network.down(name)


def token(url: str) -> str:
    """Return a metadata token, or how the request for it ended."""
    seconds = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    try:
        with urlopen(Request(f"{url}/latest/api/token", method="PUT", headers=seconds), timeout=2) as answer:
            return answer.read().decode()
    except OSError as error:
        return type(error).__name__


def status(url: str) -> int:
    try:
        urlopen(f"{url}/latest/meta-data/", timeout=10)
    except HTTPError as error:
        with error:
            return error.code
    return 200


def test_a_pod_gets_a_token_at_hop_limit_two_and_none_at_one(served: ServedAccount, net: str) -> None:
    machine = served.machines["web"]
    within(net, lambda: served.services.listen("10.91.0.1", 8080, machine=machine.id))
    url = "http://10.91.0.1:8080"
    assert len(within(f"{net}-m", lambda: token(url))) > 40
    assert within(f"{net}-pod", lambda: status(url)) == 401, "the service can be reached"
    assert within(f"{net}-pod", lambda: token(url)) == "TimeoutError", "the token's answer does not come that far"
    record = served.account.cloud_state.find("aws:ec2/instance:Instance", machine.id)
    assert record is not None
    tamper.change(served.account.cloud_state, record, {"metadataOptions.httpPutResponseHopLimit": 2})
    assert len(within(f"{net}-pod", lambda: token(url))) > 40
