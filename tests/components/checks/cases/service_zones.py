"""Private zones of an existing network."""

from typing import Any

from tests.components.spec.documents import Case, Change, azure, both, gcp, net
from tests.existing_networks import EXISTING, SERVICE_ZONES

_PROXY: Change = {"proxy": {"https": "http://10.0.0.1:3128", "http": "http://10.0.0.1:3128"}}
_AZURE, _GCP = (SERVICE_ZONES[cloud]["service_zones"] for cloud in ("azure", "gcp"))
_AWS = ["ec2.eu-west-1.amazonaws.com", "dkr.ecr.eu-west-1.amazonaws.com"]
_BLOB, _VAULT = _AZURE
_PATH = "network.existing.service_zones"


def closed(cloud: str, zones: list[str] | None = None, **fields: Any) -> Change:
    existing = {**EXISTING[cloud], **({"service_zones": zones} if zones else {})}
    return both(net(existing=existing, egress="none", **fields), _PROXY)


CASES = (
    Case("existing-service-zone-id", gcp(closed("gcp", _AZURE)), f"{_PATH}.0", gcp(closed("gcp", _GCP))),
    Case(
        "existing-service-zone-id",
        azure(closed("azure", [_BLOB, _VAULT.partition("/virtualNetworkLinks/")[0]])),
        f"{_PATH}.1",
        azure(closed("azure", _AZURE)),
    ),
    Case("existing-service-zones-missing", azure(closed("azure", [_BLOB])), _PATH, azure(closed("azure", _AZURE))),
    Case("existing-service-zones-missing", gcp(closed("gcp")), _PATH, gcp(closed("gcp", _GCP))),
    Case(
        "existing-service-zone-twice",
        azure(closed("azure", [*_AZURE, _BLOB.replace("/dns/", "/other/")])),
        f"{_PATH}.2",
        azure(closed("azure", _AZURE)),
    ),
    Case(
        "existing-service-zones-unused",
        azure(net(existing={**EXISTING["azure"], "service_zones": _AZURE})),
        _PATH,
        azure(net(existing=EXISTING["azure"])),
    ),
    Case("existing-service-zone-id", closed("aws", _AZURE), f"{_PATH}.0", closed("aws", _AWS)),
    Case("existing-service-zone-twice", closed("aws", [*_AWS, _AWS[0]]), f"{_PATH}.2", closed("aws", _AWS)),
    Case(
        "existing-service-zones-unused",
        net(existing={**EXISTING["aws"], "service_zones": _AWS}),
        _PATH,
        net(existing=EXISTING["aws"]),
    ),
)
