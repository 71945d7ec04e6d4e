"""Updates of the price tables from the clouds' price interfaces, and faulty answers, which change no table."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from components.catalogue import prices
from components.catalogue.prices import Table
from operations.console.exits import Stop
from operations.cost import asking, update, update_aws, update_azure, update_gcp
from tests.operations.cost.interfaces import Asked, aws_list, aws_row, azure_page, azure_row, gcp_sku, serving

OLD = {
    "aws": [
        Table(
            "eu-west-1",
            "2020-01-01",
            "a list",
            {"m6i.large": 9.0, "gp3": 9.0, "t3.large": 9.0, "windows/t3.large": 9.0},
        ),
        Table("*", "2020-01-01", "a list", {"windows-vcpu": 9.0, "secret": 0.4}),
    ],
    "azure": [
        Table(
            "eastus",
            "2020-01-01",
            "a list",
            {"Standard_D2s_v5": 9.0, "P4": 9.0, "public-ipv4": 9.0, "nat-gateway": 9.0, "bastion": 0.29},
        )
    ],
    "gcp": [Table("europe-west1", "2020-01-01", "a list", {"n2-standard-4": 9.0, "pd-balanced": 9.0})],
}
"""Price tables before the update, by cloud."""

LINUX, WINDOWS = "Virtual Machines Dsv5 Series", "Virtual Machines Dsv5 Series Windows"


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Use a folder with the tables of OLD; yield its path."""
    monkeypatch.setattr(prices, "FOLDER", tmp_path)
    prices.tables.cache_clear()
    for cloud, old in OLD.items():
        update.write(prices.path(cloud), old)
    yield tmp_path
    prices.tables.cache_clear()


@contextmanager
def served(answer: Asked, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Send requests to all price interfaces to a server on loopback with these answers; yield the requested paths."""
    with serving(answer) as (address, asked):
        monkeypatch.setattr(update_aws, "BASE", address)
        monkeypatch.setattr(update_azure, "BASE", f"{address}/api/retail/prices")
        monkeypatch.setattr(update_gcp, "BASE", address)
        monkeypatch.setenv(update_gcp.KEY, "not-for-eyes")
        yield asked


def aws_answer(path: str, given: dict[str, str]) -> tuple[int, str]:
    """Answer with the price lists of one region."""
    return 200, {
        "AmazonEC2": aws_list(
            aws_row(Instance_Type="m6i.large", PricePerUnit="0.107", usageType="EU-BoxUsage:m6i.large"),
            aws_row(Instance_Type="m6i.large", PricePerUnit="0.199", Operating_System="Windows"),
            aws_row(Instance_Type="m6i.large", PricePerUnit="0.9", Operating_System="RHEL"),
            aws_row(Instance_Type="m6i.large", PricePerUnit="0.9", Tenancy="Dedicated"),
            aws_row(Instance_Type="m6i.large", PricePerUnit="0.9", Pre_Installed_SW="SQL Std", Tenancy="Host"),
            aws_row(Instance_Type="m6i.large", PricePerUnit="0.05", TermType="Reserved"),
            aws_row(Instance_Type="m6i.large", PricePerUnit="0.9", Location_Type="AWS Local Zone"),
            aws_row(Instance_Type="t3.large", PricePerUnit="0.0912"),
            aws_row(Instance_Type="t3.large", PricePerUnit="0.1188", Operating_System="Windows"),
            aws_row(Instance_Type="m6i.xlarge", PricePerUnit="0.214"),
            aws_row(Volume_API_Name="gp3", PricePerUnit="0.088", Unit="GB-Mo", usageType="EU-EBS:VolumeUsage.gp3"),
            aws_row(usageType="EU-NatGateway-Hours", PricePerUnit="0.048"),
            aws_row(usageType="EU-RegionalNatGateway-Hours", PricePerUnit="0.9"),
            aws_row(usageType="EU-Another", PricePerUnit=""),
            aws_row(usageType="EU-NatGateway-Hours", PricePerUnit="0.0000000000"),
        ),
        "AmazonVPC": aws_list(
            aws_row(usageType="EU-PublicIPv4:InUseAddress", PricePerUnit="0.005"),
            aws_row(usageType="EU-VpcEndpoint-Hours", PricePerUnit="0.011"),
        ),
        "AWSELB": aws_list(
            aws_row(usageType="EU-LoadBalancerUsage", PricePerUnit="0.028", Product_Family="Load Balancer"),
            aws_row(usageType="EU-LoadBalancerUsage", PricePerUnit="0.0252", Product_Family="Load Balancer-Network"),
        ),
    }[path.split("/")[4]]


def test_update_of_aws_reads_on_demand_prices_of_shared_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(aws_answer, monkeypatch) as asked:
        assert update.update("aws").startswith("aws: 9 prices in 1 regions, ")
    assert [path.split("/")[4:] for path in asked] == [
        [offer, "current", "eu-west-1", "index.csv"] for offer in ("AmazonEC2", "AmazonVPC", "AWSELB")
    ]
    new, kept = prices.tables("aws")
    assert new.prices == {
        "m6i.large": 0.107,
        "t3.large": 0.0912,
        "gp3": 0.088,
        "nat-gateway": 0.048,
        "public-ipv4": 0.005,
        "endpoint": 0.011,
        "load-balancer": 0.0252,
        "windows-vcpu": 0.046,
        "windows/t3.large": 0.0276,
    }
    assert (new.region, new.source) == ("eu-west-1", update_aws.SOURCE)
    assert kept == OLD["aws"][1], "prices for every region stay, for regions that are not asked for"
    assert prices.price("aws", "sa-east-1", "windows-vcpu") == prices.Price(9.0, kept)
    assert prices.windows("aws", "eu-west-1", "t3.large")[1:] == (1, prices.Price(0.0276, new))


def azure_services(where: str) -> list[dict[str, Any]] | None:
    """Return the rows of a service's meter, with those that are not meant: other regions and higher tiers."""
    rows = {
        "Standard Included LB Rules and Outbound Rules": [("Global", 0.025, 0)],
        "Standard Gateway": [("Global", 0.045, 0), ("US Gov", 0.056, 0)],
        "Standard Data Processed": [("Global", 0.045, 0), ("US Gov", 0.056, 0)],
        "Standard Private Endpoint": [("Global", 0.01, 0)],
        "Private Zone": [("", 0.5, 0), ("", 0.1, 25), ("Zone 1", 0.5, 0), ("US Gov", 0.6, 0)],
        "Standard IPv4 Static Public IP": [("eastus", 0.005, 0), ("usgovvirginia", 0.006, 0)],
    }
    for meter, found in rows.items():
        if f"meterName eq '{meter}'" in where:
            more = [{"armRegionName": place, "tierMinimumUnits": tier} for place, _, tier in found]
            return [
                azure_row("", price, meterName=meter, **each) for each, (_, price, _) in zip(more, found, strict=True)
            ]
    return None


def azure_answer(path: str, given: dict[str, str]) -> tuple[int, str]:
    """Answer with two pages of machines, one of disks, one of each service."""
    where = given.get("$filter", "")
    if (rows := azure_services(where)) is not None:
        return 200, azure_page(*rows)
    if "Premium SSD Managed Disks" in where:
        disk = {"unitOfMeasure": "1/Month", "productName": "Premium SSD Managed Disks"}
        mount = {**disk, "meterName": "P4 LRS Disk Mount"}
        return 200, azure_page(azure_row("", 5.28, meterName="P4 LRS Disk", **disk), azure_row("", 0.3, **mount))
    if "$skip" in given:
        windows = azure_row("Standard_D2s_v5", 0.188, productName=WINDOWS)
        return 200, azure_page(windows, azure_row("Standard_D2s_v5", 0.01, skuName="D2s v5 Spot"))
    low = azure_row("Standard_D2s_v5", 0.02, skuName="D2s v5 Low Priority")
    cloud_services = azure_row("Standard_D2s_v5", 0.9, productName="Dsv5 Series Cloud Services")
    following = f"{update_azure.BASE}?$skip=1000"
    return 200, azure_page(low, cloud_services, azure_row("Standard_D2s_v5", 0.096), following=following)


def test_update_of_azure_follows_pages_and_skips_spot_and_cloud_services(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(azure_answer, monkeypatch) as asked:
        update.update("azure")
    assert len(asked) == 3 + len(update_azure.METERS)
    new, kept = prices.tables("azure")
    assert new.prices == {
        "Standard_D2s_v5": 0.096,
        "windows-vcpu": 0.046,
        "P4": 5.28,
        "load-balancer": 0.025,
        "nat-gateway": 0.045,
        "nat-gb": 0.045,
        "endpoint": 0.01,
        "dns-zone": 0.5,
        "public-ipv4": 0.005,
    }
    assert kept.prices == {"bastion": 0.29}


def gcp_answer(path: str, given: dict[str, str]) -> tuple[int, str]:
    """Answer with two pages of SKUs, if the key is right."""
    if given["key"] != "not-for-eyes":
        return 403, "{}"
    if "E505-1604-58F8" in path:
        rule = "Forwarding Rule Minimum"
        skus = [
            gcp_sku(f"Cloud Load Balancer {rule} for Belgium (europe-west1)", 25_000_000, "europe-west1", "Network"),
            gcp_sku(f"Cloud Load Balancer {rule} for Europe (multi-region)", 90_000_000, "europe-west1", "Network"),
            gcp_sku(f"Cloud Load Balancer {rule} Global", 26_000_000, "global", "Network"),
            gcp_sku(
                f"Regional External Application Load Balancer {rule} for Belgium (europe-west1)",
                *(27_000_000, "europe-west1", "Network"),
            ),
        ]
        return 200, json.dumps({"skus": skus, "nextPageToken": ""})
    if given.get("pageToken"):
        windows = "Licensing Fee for Windows Server 2022 Datacenter Edition on VM"
        disk = gcp_sku("Balanced PD Capacity in Belgium", 100_000_000, "europe-west1", "Storage")
        skus = [gcp_sku(windows, 46_000_000, "global", "License"), disk]
        return 200, json.dumps({"skus": skus, "nextPageToken": ""})
    skus = [
        gcp_sku("N2 Instance Core running in Belgium", 34_773_000, "europe-west1"),
        gcp_sku("N2 Instance Ram running in Belgium", 4_661_000, "europe-west1"),
        gcp_sku("N2 Custom Instance Core running in Belgium", 900_000_000, "europe-west1"),
        gcp_sku("Spot Preemptible N2 Instance Core running in Belgium", 9_000_000, "europe-west1", usage="Preemptible"),
        gcp_sku("N2 Instance Core running in Iowa", 31_611_000, "us-central1"),
    ]
    return 200, json.dumps({"skus": skus, "nextPageToken": "two"})


def test_update_of_gcp_adds_the_prices_of_cores_and_memory_of_a_type(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(gcp_answer, monkeypatch) as asked:
        update.update("gcp")
    assert not [path for path in asked if "not-for-eyes" in path], "the key is in no URL"
    (new,) = prices.tables("gcp")
    assert new.prices["n2-standard-4"] == pytest.approx(0.213668), "as the published price of europe-west1"
    assert (new.prices["pd-balanced"], new.prices["windows-vcpu"]) == (0.1, 0.046)
    assert new.prices["load-balancer"] == 0.025, "neither that of proxies, nor those of several regions"


def test_update_of_gcp_fails_without_an_api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(update_gcp.KEY, raising=False)
    with pytest.raises(Stop, match=f"set {update_gcp.KEY} to an API key"):
        update.update("gcp")


def _slow(*_: Any, **__: Any) -> Any:
    raise httpx.ReadTimeout("too slow")


def without(word: str) -> Asked:
    """Return AWS' answers without the rows that have this word."""

    def answer(path: str, given: dict[str, str]) -> tuple[int, str]:
        status, text = aws_answer(path, given)
        return status, "\n".join(line for line in text.splitlines() if word not in line)

    return answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda path, given: (503, "busy"), "answered 503"),
        (lambda path, given: (0, aws_answer(path, given)[1]), "failed"),
        (lambda path, given: (200, "<html>sign in</html>"), "unknown format"),
        (without("m6i.large"), r"1 prices .* missing in the answers \(m6i.large in eu-west-1\)"),
        (without('"0.1188"'), r"1 prices .* missing in the answers \(windows/t3.large in eu-west-1\)"),
        (without("gp3"), "1 prices that the table has are missing"),
        (lambda path, given: (200, aws_answer(path, given)[1].replace('"0.107"', '"free"')), "unknown format"),
    ],
    ids=["an error", "hung up", "no list", "a size is missing", "Windows is missing", "a disk is missing", "no number"],
)
def test_a_faulty_answer_leaves_the_table_as_it_was(
    answer: Asked, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = prices.path("aws").read_bytes()
    with served(answer, monkeypatch), pytest.raises(Stop, match=message):
        update.update("aws")
    assert prices.path("aws").read_bytes() == before
    assert sorted(path.name for path in prices.FOLDER.iterdir()) == ["aws.json", "azure.json", "gcp.json"]


def test_a_timeout_leaves_the_table_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prices.path("azure").read_bytes()
    monkeypatch.setattr(asking.httpx, "stream", _slow)
    with pytest.raises(Stop, match=r"prices\.azure\.com did not answer within 30 s"):
        update.update("azure")
    assert prices.path("azure").read_bytes() == before


def test_a_next_page_on_another_host_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    page = azure_page(following="https://elsewhere.example/api")
    with served(lambda path, given: (200, page), monkeypatch), pytest.raises(Stop, match=r"elsewhere\.example"):
        update.update("azure")


def test_two_prices_of_one_key_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    two = azure_page(azure_row("Standard_D2s_v5", 0.096), azure_row("Standard_D2s_v5", 0.1))
    with (
        served(lambda path, given: (200, two), monkeypatch),
        pytest.raises(Stop, match="two prices of Standard_D2s_v5"),
    ):
        update.update("azure")


def test_the_price_tables_of_the_repository_have_the_format_of_an_update(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for cloud in update.INTERFACES:
        prices.tables.cache_clear()
        assert prices.path(cloud).read_text("utf-8") == update.text(list(prices.tables(cloud)))
        asked = update.wanted(cloud, prices.tables(cloud))
        assert len(asked.regions) >= 9
        assert len(asked.sizes) >= 20
