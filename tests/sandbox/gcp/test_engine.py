"""The real Pulumi engine on the sandbox's GCP, with a small program."""

from pathlib import Path
from typing import Any

import pulumi
import pytest

from tests.sandbox.running import Runner, Small

pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings(
        "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
    ),
]
REGION = "europe-west1"
VALUE = "engine-secret-0452"


def named_balancer(network: Any, subnet: Any, machine_zone: Any, machines: list[Any]) -> Any:
    """Create an internal load balancer with a name in a private zone; return its address."""
    import pulumi_gcp as gcp

    group = gcp.compute.InstanceGroup("api", zone=machine_zone, instances=[machine.self_link for machine in machines])
    check = gcp.compute.RegionHealthCheck("api", region=REGION, https_health_check={"port": 6443})
    service = gcp.compute.RegionBackendService(
        "api",
        region=REGION,
        protocol="TCP",
        load_balancing_scheme="INTERNAL",
        health_checks=check.id,
        backends=[{"group": group.id, "balancing_mode": "CONNECTION"}],
    )
    address = gcp.compute.Address("api", address_type="INTERNAL", subnetwork=subnet.id, region=REGION)
    rule = gcp.compute.ForwardingRule(
        "api",
        region=REGION,
        ip_address=address.address,
        load_balancing_scheme="INTERNAL",
        backend_service=service.id,
        ports=["6443"],
        network=network.id,
        subnetwork=subnet.id,
    )
    visible: Any = {"networks": [{"network_url": network.id}]}
    zone = gcp.dns.ManagedZone(
        "zone", dns_name="c.mullion.internal.", visibility="private", private_visibility_config=visible
    )
    named: dict[str, Any] = {"name": "api.c.mullion.internal.", "type": "A", "ttl": 60}
    gcp.dns.RecordSet("api", managed_zone=zone.name, rrdatas=[rule.ip_address], **named)
    return rule.ip_address


def small_cloud(settings: dict[str, Any]) -> None:
    """A network with machines, a balancer with a name, an identity with rights, stores and a secret."""
    import pulumi_gcp as gcp

    labels = {"owner": settings["owner"]}
    network = gcp.compute.Network("net", auto_create_subnetworks=False, mtu=1500)
    subnet = gcp.compute.Subnetwork("sub", network=network.id, ip_cidr_range=settings["range"], region=REGION)
    router = gcp.compute.Router("router", network=network.id, region=REGION)
    gcp.compute.RouterNat(
        "nat",
        router=router.name,
        region=REGION,
        nat_ip_allocate_option="AUTO_ONLY",
        source_subnetwork_ip_ranges_to_nat="LIST_OF_SUBNETWORKS",
        subnetworks=[{"name": subnet.id, "source_ip_ranges_to_nats": ["ALL_IP_RANGES"]}],
    )
    account = gcp.serviceaccount.Account("node", account_id="node-account")
    bucket = gcp.storage.Bucket("bundles", location="EUROPE-WEST1", force_destroy=True, labels=labels)
    gcp.storage.BucketObject("bundle", bucket=bucket.name, name="a/b", source=pulumi.StringAsset(settings["bundle"]))
    member: dict[str, Any] = {"member": account.member, "role": "roles/storage.objectViewer"}
    gcp.storage.BucketIAMMember("read", bucket=bucket.name, **member)
    secret = gcp.secretmanager.Secret("pki", secret_id="pki", replication={"auto": {}})
    gcp.secretmanager.SecretVersion("pki", secret=secret.id, secret_data=pulumi.Output.secret(VALUE))
    image = gcp.compute.get_image(project="ubuntu-os-cloud", family="ubuntu-2204-lts").self_link
    zones = gcp.compute.get_zones(region=REGION, status="UP").names
    machines = [
        gcp.compute.Instance(
            f"m{number}",
            name=f"m{number}",
            machine_type=settings["size"],
            zone=zones[0],
            boot_disk={"initialize_params": {"image": image, "size": 50}},
            network_interfaces=[{"subnetwork": subnet.id, "network_ip": f"10.20.0.{10 + number}"}],
            service_account={"email": account.email, "scopes": ["cloud-platform"]},
            can_ip_forward=settings["forward"],
            labels=labels,
            allow_stopping_for_update=True,
        )
        for number in range(settings["machines"])
    ]
    pulumi.export("address", named_balancer(network, subnet, zones[0], machines[:1]))
    pulumi.export("email", account.email)


SETTINGS = {"size": "n2-standard-2", "range": "10.20.0.0/24", "forward": False}
SMALL = Small(small_cloud, SETTINGS, ("gcp:region", REGION))


def test_up_change_replace_destroy_and_up_again(runner: Runner, tmp_path: Path) -> None:
    """The life of a stack; each preview_and_up also asserts that the up did what the preview showed."""
    outputs = runner.first_up()
    assert outputs["address"] == "10.20.0.253", "the last that a subnetwork has to give"
    assert outputs["email"] == "node-account@mullion-sandbox.iam.gserviceaccount.com"

    changed = runner.preview_and_up(owner="them", size="n2-standard-4", range="10.20.0.0/23", machines=3)
    assert changed == {
        "Subnetwork sub": ("update", ("ipCidrRange",)),
        "Bucket bundles": ("update", ("labels",)),
        "Instance m0": ("update", ("labels", "machineType")),
        "Instance m1": ("update", ("labels", "machineType")),
        "Instance m2": ("create", ()),
    }, "changes are in place, and named"
    runner.settings["forward"] = True
    replaced = runner.run(runner.stack.up)  # a preview cannot know that the new machine's URL equals the old one's
    assert {name for name in replaced if name.startswith("Instance m")} == {"Instance m0", "Instance m1", "Instance m2"}

    runner.stack.destroy()
    assert runner.cloud_state.resources() == []
    assert {operation for operation, _ in runner.run(runner.stack.up).values()} == {"create"}, "again, same names"
    runner.stack.destroy()
    assert not [operation for operation in runner.cloud_state.operations() if operation.error]
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "world.secrets"]
    assert not [file for file in files if VALUE.encode() in file.read_bytes()], "secrets are in the secrets file alone"
