"""The Azure wiring: inputs and options of every registered resource, recorded without an engine."""

import base64
import re
from itertools import pairwise
from typing import Any

import pytest

from components.azure.machines import COMMAND, FIXED, password, public_key
from components.azure.storage import account_name
from components.azure.vault import vault_name
from components.plan import plan_cluster
from components.stack_files.stack import CLUSTER, read_stack
from components.topology.firewall import SecurityGroup
from components.wiring.tags import tag_value
from operations.clouds import cloud_tables
from operations.recorder.recorder import record
from sandbox import clouds
from sandbox.values import Secret
from tests.components.recorded_wiring import config, of, plan, recording

STACKS = ("azure-dev", "azure-ci", "azure-prod")
MACHINE, INTERFACE = "azure-native:compute:VirtualMachine", "azure-native:network:NetworkInterface"
EXTENSION = "azure-native:compute:VirtualMachineExtension"
RULES, ASSIGNMENT = "azure-native:network:NetworkSecurityGroup", "azure-native:authorization:RoleAssignment"
STORE = "azure-native:storage:StorageAccount"


@pytest.mark.parametrize("stack", STACKS)
def test_every_taggable_resource_has_tags_for_cluster_owner_expiry_and_urn(stack: str) -> None:
    shapes, spec = clouds.of("azure").shapes, plan(stack).spec
    tagged = [resource for resource in recording(stack).resources.values() if resource.type.startswith("azure-native:")]
    for resource in (each for each in tagged if "tags" in shapes.inputs(each.type)):
        tags = resource.inputs["tags"]
        if resource.type in cloud_tables.PRIVATE_DNS:
            assert not [key for key in tags if ":" in key], "private DNS drops such a key"
            tags = {key.replace("-", ":", 1): value for key, value in tags.items()}
        assert tags["mullion:cluster"] == stack and tags["mullion:owner"] == spec.owner
        assert tags.get("mullion:expires") == spec.expires
        assert tags["mullion:urn"] == tag_value(resource.urn)


@pytest.mark.parametrize("stack", STACKS)
def test_secrets_are_only_in_the_vault_and_in_windows_passwords(stack: str) -> None:
    for resource in recording(stack).resources.values():
        marked = [name for name, value in resource.inputs.items() if isinstance(value, Secret) or _hidden(value)]
        allowed = {
            "azure-native:keyvault:Secret": ["properties"],
            MACHINE: ["osProfile"],
            EXTENSION: ["protectedSettings"],
        }
        if resource.type != "pulumi:index:Stash":
            assert marked in ([], allowed.get(resource.type, [])), f"{resource.urn} holds a secret"
        if resource.type == MACHINE:
            windows = "adminPassword" in resource.inputs["osProfile"]
            assert bool(marked) is windows, "customData is not secret, so it must contain no secret"


def _hidden(value: Any) -> bool:
    if isinstance(value, dict):
        return any(isinstance(each, Secret) or _hidden(each) for each in value.values())
    return isinstance(value, list) and any(isinstance(each, Secret) or _hidden(each) for each in value)


@pytest.mark.parametrize("stack", STACKS)
def test_machines_are_as_planned_and_hardened(stack: str) -> None:
    """SRV-12, SEC-02: names, disks, trusted launch; a worker has an identity of its name and one of the machine."""
    machines, interfaces = of(recording(stack), MACHINE), of(recording(stack), INTERFACE)
    planned = {f"{stack}-{one.name}": (group, one) for group in plan(stack).machine_groups for one in group.machines}
    assert set(machines) == set(interfaces) == set(planned)
    for name, (group, machine) in planned.items():
        inputs, profile = machines[name].inputs, machines[name].inputs["osProfile"]
        assert inputs["vmName"] == profile["computerName"] == machine.name and len(machine.name) <= 15
        assert inputs["zones"] == [str(machine.zone + 1)]
        assert inputs["hardwareProfile"]["vmSize"] == group.size
        assert inputs["storageProfile"]["osDisk"]["diskSizeGB"] == group.disk_gb
        cached = "ReadOnly" if group.is_control_plane else "ReadWrite"
        assert inputs["storageProfile"]["osDisk"]["caching"] == cached, "etcd writes through the host's cache"
        assert inputs["securityProfile"]["securityType"] == "TrustedLaunch"
        [identity] = inputs["identity"]["userAssignedIdentities"]
        kind = "UserAssigned" if group.is_control_plane else "SystemAssigned, UserAssigned"
        assert inputs["identity"]["type"] == kind and "identity" in machines[name].ignore_changes
        own = "control-plane" if group.is_control_plane else machine.name
        assert identity.endswith(f"/{stack}-{own}")
        rights = [each for key, each in of(recording(stack), ASSIGNMENT).items() if key.startswith(f"{stack}-{own}-")]
        assert rights and {each.urn for each in rights} <= machines[name].dependencies, "it would boot without rights"
        loader = base64.b64decode(profile["customData"]).decode()
        assert group.bundle.sha256 in loader and "<powershell>" not in loader
        assert ("adminPassword" in profile) is group.os.is_windows
        assert "linuxConfiguration" not in profile or profile["linuxConfiguration"]["disablePasswordAuthentication"]
        assert machines[name].ignore_changes[:1] == ["osProfile"] and machines[name].delete_before_replace
        assert list(machines[name].request.replaceOnChanges) == FIXED


@pytest.mark.parametrize("stack", STACKS)
def test_interfaces_have_the_planned_address_security_groups_and_ip_forwarding(
    stack: str,
) -> None:
    for group in plan(stack).machine_groups:
        for machine in group.machines:
            inputs = of(recording(stack), INTERFACE)[f"{stack}-{machine.name}"].inputs
            [place] = inputs["ipConfigurations"]
            assert place["privateIPAddress"] == str(machine.address)
            assert place["privateIPAllocationMethod"] == "Static"
            assert inputs["enableIPForwarding"] is (machine.pods is not None)
            assert bool(place.get("publicIPAddress")) is (plan(stack).spec.network.egress.value == "public")
            assert inputs["networkSecurityGroup"]["id"].endswith(f"/{stack}-{group.group.value}")
            balanced = plan(stack).endpoint.balanced or plan(stack).endpoint.public
            assert bool(place.get("loadBalancerBackendAddressPools")) is (balanced and group.is_control_plane)


@pytest.mark.parametrize("stack", STACKS)
def test_an_extension_starts_the_loader_of_each_windows_machine(stack: str) -> None:
    windows = {
        f"{stack}-{machine.name}": machine.name
        for group in plan(stack).machine_groups
        if group.os.is_windows
        for machine in group.machines
    }
    extensions, machines = of(recording(stack), EXTENSION), of(recording(stack), MACHINE)
    assert {name: each.inputs["vmName"] for name, each in extensions.items()} == windows
    for name, extension in extensions.items():
        assert extension.inputs["protectedSettings"].value == {"commandToExecute": COMMAND}
        assert not extension.property_dependencies.get("vmName"), (
            "such a dependency would make the engine delete the extension before the drain"
        )
        assert machines[name].urn in extension.dependencies
        assert extension.request.deletedWith == machines[name].urn
        assert extension.ignore_changes == ["tags", "protectedSettings", "typeHandlerVersion"], "else it runs on all"
        times = extension.request.customTimeouts
        assert times.create == times.update == "1800s", "as long as the gate waits"


def test_the_extension_copies_the_loader_from_custom_data_and_returns_its_exit_code() -> None:
    assert r"Copy-Item C:\AzureData\CustomData.bin C:\AzureData\loader.ps1" in COMMAND
    assert COMMAND.endswith('exit $LASTEXITCODE"')


def test_a_wave_waits_for_the_loader_extension_of_the_wave_before() -> None:
    machines, extensions = of(recording("azure-prod"), MACHINE), of(recording("azure-prod"), EXTENSION)
    pool = [f"azure-prod-web-{index}" for index in range(3)]
    assert all(extensions[before].urn in machines[each].dependencies for before, each in pairwise(pool))


def test_control_planes_are_chained_and_ignore_changes_of_the_stack() -> None:
    machines = of(recording("azure-prod"), MACHINE)
    members = [machines[f"azure-prod-{machine.name}"] for machine in plan("azure-prod").control_plane.machines]
    ignored = ["osProfile", "storageProfile.osDisk.name", "identity", "hardwareProfile", "storageProfile"]
    assert all(member.ignore_changes == ignored for member in members)
    assert all(each.protect and each.replacement_trigger is None for each in members)
    assert all(before.urn in each.dependencies for before, each in pairwise(members))


@pytest.mark.parametrize("stack", STACKS)
def test_security_groups_equal_the_rule_table_and_end_with_deny_all(stack: str) -> None:
    for group in (SecurityGroup.CONTROL_PLANE, SecurityGroup.WORKERS):
        rows = of(recording(stack), RULES)[f"{stack}-{group.value}"].inputs["securityRules"]
        wanted = {rule.name: rule for rule in plan(stack).rules if rule.group is group}
        assert set(wanted) == {row["name"] for row in rows} - {"no-one-else"}
        last = max((row for row in rows if row["direction"] == "Inbound"), key=lambda row: row["priority"])
        assert (last["name"], last["access"], last["protocol"], last["priority"]) == ("no-one-else", "Deny", "*", 4096)
        for row in (one for one in rows if one is not last):
            rule, side = wanted[row["name"]], "source" if row["direction"] == "Inbound" else "destination"
            assert (row["access"], row["direction"] == "Inbound") == ("Allow", rule.ingress)
            assert len(row["description"]) <= 140 and re.fullmatch(r"[\w.-]{1,80}", row["name"])
            members = row.get(f"{side}ApplicationSecurityGroups")
            if isinstance(rule.peer, SecurityGroup):
                assert members and members[0]["id"].endswith(f"/{stack}-{rule.peer.value}")
            else:
                assert row[f"{side}AddressPrefix"] == str(rule.peer)


@pytest.mark.parametrize("stack", STACKS)
def test_identities_have_the_least_rights(stack: str) -> None:
    """Checks roles, scopes and conditions of the assignments; a worker takes two of a subscription's 4000."""
    rights = {name.removeprefix(f"{stack}-"): each.inputs for name, each in of(recording(stack), ASSIGNMENT).items()}
    workers = [worker.name for worker in plan(stack).workers]
    assert {name for name in rights if not name.startswith("control-plane-")} == {
        f"{name}-{each}" for name in workers for each in ("objects", "join-read")
    }
    for name in workers:
        read, written = str(rights[f"{name}-objects"]["condition"]).split(" AND ")
        assert "blobs/read'" in read and "blobs/write'" in written
        found = [set(re.findall(r"StartsWith '([^']*)'", each)) for each in (read, written)]
        assert found[0] == {"bundles/", "ca.crt", "epoch.json", f"requests/{name}:"}
        assert found[1] == {f"status/{name}:", f"logs/{name}:", f"join/{name}:"}
    assert all(bool(each.get("condition")) is ("containers/bundles" in each["scope"]) for each in rights.values())
    assert all(each["principalType"] == "ServicePrincipal" for each in rights.values())
    roles = of(recording(stack), "azure-native:authorization:RoleDefinition")
    granted = [row for each in roles.values() for row in each.inputs["permissions"]]
    assert sorted(action for row in granted for actions in row.values() for action in actions) == [
        "Microsoft.Compute/virtualMachines/read",
        "Microsoft.KeyVault/vaults/secrets/setSecret/action",
        "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read",
        "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write",
    ]


@pytest.mark.parametrize("stack", STACKS)
def test_stores_and_vault_admit_only_the_clusters_subnets_and_the_allow_list(stack: str) -> None:
    [vault] = of(recording(stack), "azure-native:keyvault:Vault").values()
    assert vault.inputs["properties"]["enableRbacAuthorization"] is True
    assert vault.inputs["properties"]["networkAcls"]["defaultAction"] == "Deny"
    for name, store in of(recording(stack), STORE).items():
        assert store.inputs["allowBlobPublicAccess"] is False and store.inputs["minimumTlsVersion"] == "TLS1_2"
        listed = store.inputs["networkRuleSet"]
        assert listed["defaultAction"] == "Deny" and listed["bypass"] == "None"
        assert len(listed["virtualNetworkRules"]) == plan(stack).network.zones
        assert [row["iPAddressOrRange"] for row in listed["ipRules"]] == ["203.0.113.0/24"]
        kept = name.endswith("-snapshots") and plan(stack).spec.expires is None
        assert store.retain_on_delete is kept, name


def test_snapshots_are_in_a_separate_resource_group_that_is_retained() -> None:
    groups = of(recording("azure-dev"), "azure-native:resources:ResourceGroup")
    own, apart = groups["azure-dev"], groups["azure-dev-snapshots"]
    assert not own.retain_on_delete and apart.retain_on_delete
    store = of(recording("azure-dev"), STORE)["azure-dev-snapshots"]
    assert store.inputs["resourceGroupName"] == apart.inputs["resourceGroupName"]


def test_each_load_balancer_probes_readyz_and_has_no_outbound_snat() -> None:
    balancers = of(recording("azure-prod"), "azure-native:network:LoadBalancer")
    assert set(balancers) == {"azure-prod-api-internal"}
    inputs = balancers["azure-prod-api-internal"].inputs
    [front], [rule], [probe] = (inputs[key] for key in ("frontendIPConfigurations", "loadBalancingRules", "probes"))
    assert front["privateIPAddress"] == str(plan("azure-prod").endpoint.balancer_addresses[0])
    assert front["zones"] == ["1", "2", "3"]
    assert (probe["protocol"], probe["requestPath"], probe["port"]) == ("Https", "/readyz", 6443)
    assert (probe["intervalInSeconds"], probe["probeThreshold"]) == (5, 2)
    assert rule["disableOutboundSnat"] is True
    assert rule["probe"]["id"].endswith("/providers/Microsoft.Network/loadBalancers/azure-prod-api-internal/probes/api")


def test_net_05_each_machine_with_a_pod_range_has_a_route_to_its_address() -> None:
    network = {"mode": "l2bridge", "pods": "10.244.0.0/14", "services": "10.96.0.0/12", "nodes": "10.20.0.0/22"}
    changed = {**config("azure-dev"), CLUSTER: {**config("azure-dev")[CLUSTER], "network": network}}
    recorded = record("azure-dev", changed)
    assert recorded.errors == []
    assert of(recorded, "azure-native:network:Route") == {}, "Azure refuses concurrent changes of a table"
    [(name, table)] = of(recorded, "azure-native:network:RouteTable").items()
    assert (name, table.inputs["routeTableName"]) == ("azure-dev-routes", "azure-dev-routes"), (
        "with the name of an older cluster's table, azure-dev-pods, the engine would remove the older routes from it"
    )
    routed = plan_cluster("azure-dev", read_stack("azure-dev", changed).spec)
    assert {(row["name"], row["addressPrefix"], row["nextHopIpAddress"]) for row in table.inputs["routes"]} == {
        (each.name, str(each.pods), str(each.address)) for each in routed.machines
    }
    assert {row["nextHopType"] for row in table.inputs["routes"]} == {"VirtualAppliance"}
    assert all(each.inputs["enableIPForwarding"] for each in of(recorded, INTERFACE).values())
    subnets = of(recorded, "azure-native:network:Subnet").values()
    assert all(each.inputs["routeTable"]["id"].endswith("/azure-dev-routes") for each in subnets)
    assert all(table.urn in each.dependencies for each in subnets)


@pytest.mark.parametrize(
    "cluster", ["a", "azure-dev", "a--b", "abcdefghijklmnopqrstuvwxyz", "a-b-c-d-e-f-g-h-i-j-k-l-mn"]
)
def test_global_names_have_the_clusters_suffix_and_a_valid_length(cluster: str) -> None:
    assert re.fullmatch(r"[a-z0-9]{3,24}", account_name(cluster, "bundles", "bcdfgh"))
    assert account_name(cluster, "bundles", "bcdfgh") != account_name(cluster, "snapshots", "bcdfgh")
    assert re.fullmatch(r"(?!.*--)[a-z][a-z0-9-]{1,22}[a-z0-9]", vault_name(cluster, "bcdfgh"))
    assert (
        account_name(cluster, "bundles", "bcdfgh").endswith("bcdfgh") and vault_name(cluster, "bcdfgh")[-6:] == "bcdfgh"
    )


def test_the_administrators_password_and_key_meet_azures_rules() -> None:
    generated = password()
    assert 8 <= len(generated) <= 123
    assert all(re.search(kind, generated) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"-"))
    assert generated != password() and public_key().startswith("ssh-rsa ")


@pytest.mark.parametrize("stack", STACKS)
def test_a_bundle_is_created_before_its_predecessor_is_deleted(stack: str) -> None:
    """A blob of text has a fixed name, so the older one is deleted first."""
    for name, each in of(recording(stack), "azure-native:storage:Blob").items():
        assert each.delete_before_replace is not name.startswith(f"{stack}-bundle-"), name


@pytest.mark.parametrize("stack", STACKS)
def test_a_changed_bundle_gets_a_new_folder(stack: str) -> None:
    """The provider refuses to create a blob that exists, and older bundles are kept."""
    blobs, stashes = (of(recording(stack), kind) for kind in ("azure-native:storage:Blob", "pulumi:index:Stash"))
    for group in plan(stack).machine_groups:
        name = f"{stack}-bundle-{group.name}"
        folder, inputs = stashes[f"{name}-folder"], blobs[name].inputs
        assert re.fullmatch(r"[0-9a-f]{8}", folder.inputs["input"])
        assert inputs["blobName"] == f"bundles/{group.name}/{folder.inputs['input']}/{group.bundle.sha256}.zip"
        assert folder.replacement_trigger == group.bundle.key and blobs[name].retain_on_delete
        instances = [
            each for each in of(recording(stack), MACHINE).values() if each.inputs["tags"]["mullion:pool"] == group.name
        ]
        for instance in instances:
            assert inputs["blobName"] in base64.b64decode(instance.inputs["osProfile"]["customData"]).decode()
