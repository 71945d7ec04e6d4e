"""Lists of Azure's Compute service: the next page's address names the port; no other address gets the token."""

import importlib
import io
import json
from types import ModuleType
from typing import Any, ClassVar

import pytest

GROUP = "/subscriptions/s/resourceGroups/g"
FIRST = f"https://management.azure.com{GROUP}"
PATH = f"{GROUP}/providers/Microsoft.Compute/virtualMachines?api-version=2024-07-01&$skiptoken=1"


class Pages:
    """A run of the executor whose service answers with two pages."""

    told: ClassVar[dict[str, dict[str, str]]] = {"facts": {"identity": "i"}}
    egress: ClassVar[dict[str, Any]] = {}

    def __init__(self, following: str) -> None:
        self.asked: list[str] = []
        self.answers = [{"value": [{"name": "a"}], "nextLink": following}, {"value": [{"name": "b"}]}]

    def value(self, name: str) -> str:
        assert name == "facts.compute_service"
        return FIRST

    def in_time(self) -> None:
        pass

    def left(self) -> float:
        return 10.0

    def ask(self, service: str, url: str) -> str:
        self.asked.append(url)
        return json.dumps(self.answers[len(self.asked) - 1])


@pytest.fixture
def listed(node: ModuleType) -> Any:
    return importlib.import_module("clouds.azure")._listed


@pytest.mark.parametrize("host", ["management.azure.com:443", "management.azure.com", "MANAGEMENT.azure.com:443"])
def test_a_page_at_the_same_host_and_port_is_followed(listed: Any, host: str) -> None:
    pages = Pages(f"https://{host}{PATH}")
    assert [each["name"] for each in listed(pages)] == ["a", "b"]
    assert pages.asked[1] == f"https://{host}{PATH}"


def test_without_a_way_to_the_internet_pages_are_asked_for_through_the_proxy(
    node: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    azure = importlib.import_module("clouds.azure")
    pages, asked = Pages(f"{FIRST}?next"), []

    def opened(request: Any, timeout: float) -> Any:
        asked.append((request.full_url, request.get_header("Authorization"), timeout > 0))
        return io.BytesIO(json.dumps(pages.answers[len(asked) - 1]).encode())

    monkeypatch.setattr(azure.web, "of_services", lambda run: opened)
    monkeypatch.setattr(azure.loader, "metadata", lambda *args: json.dumps({"access_token": "t"}))
    assert [each["name"] for each in azure._listed(pages)] == ["a", "b"]
    assert [each[1:] for each in asked] == [("Bearer t", True)] * 2 and pages.asked == []


@pytest.mark.parametrize(
    "other",
    [
        "https://management.azure.com:8443",
        "http://management.azure.com:443",
        "https://management.azure.com.example.org",
        "https://management.azure.com@example.org",
    ],
)
def test_a_page_elsewhere_is_not_asked_for(listed: Any, other: str) -> None:
    pages = Pages(f"{other}{PATH}")
    with pytest.raises(ValueError, match="another address"):
        list(listed(pages))
    assert len(pages.asked) == 1


def test_a_version_of_the_secret_join_has_a_content_type(node: ModuleType) -> None:
    """Policies of landing zones refuse a version without one, also at the vault."""
    sent: list[tuple[str, str, dict[str, Any], str]] = []

    class Vault:
        def value(self, name: str) -> str:
            assert name == "facts.secret_service"
            return "https://v.vault.azure.net"

        def ask(self, service: str, url: str, method: str, body: bytes, *, content_type: str) -> None:
            sent.append((service, method, json.loads(body), content_type))

    azure = importlib.import_module("clouds.azure")
    azure.put_secret(Vault(), "join", "abcdef.0123456789abcdef")
    body = {"value": "abcdef.0123456789abcdef", "contentType": "text/plain"}
    assert sent == [("secrets", "PUT", body, "application/json")]
