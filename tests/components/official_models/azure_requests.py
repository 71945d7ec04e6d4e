"""The request of each resource type on Azure."""

from tests.components.official_models.azure_models import Row

_NETWORK, _COMPUTE, _VM = "network", "compute.v2024_11_01", "virtual_machine"

ROWS: dict[str, Row] = {
    "authorization:RoleAssignment": Row(
        "authorization.v2022_04_01",
        "RoleAssignmentCreateParameters",
        "_role_assignments_operations.create",
        ("role_assignment_name",),
    ),
    "authorization:RoleDefinition": Row(
        "authorization.v2022_05_01_preview",
        "RoleDefinition",
        "_role_definitions_operations.create_or_update",
        ("role_definition_id",),
    ),
    "compute:DiskEncryptionSet": Row(
        "compute.v2024_03_02", "DiskEncryptionSet", "_operations.disk_encryption_sets_create_or_update"
    ),
    "compute:VirtualMachine": Row(_COMPUTE, "VirtualMachine", f"_operations.{_VM}s_create_or_update"),
    "compute:VirtualMachineExtension": Row(
        _COMPUTE, "VirtualMachineExtension", f"_operations.{_VM}_extensions_create_or_update"
    ),
    "keyvault:Secret": Row("keyvault", "SecretCreateOrUpdateParameters", "_secrets_operations.create_or_update"),
    "keyvault:Vault": Row("keyvault", "VaultCreateOrUpdateParameters", "_vaults_operations.create_or_update"),
    "managedidentity:FederatedIdentityCredential": Row(
        "msi.v2023_01_31",
        "FederatedIdentityCredential",
        "_federated_identity_credentials_operations.create_or_update",
    ),
    "managedidentity:UserAssignedIdentity": Row(
        "msi.v2023_01_31", "Identity", "_user_assigned_identities_operations.create_or_update"
    ),
    **{
        f"network:{model}": Row(_NETWORK, model, f"_operations.{operation}_create_or_update")
        for model, operation in {
            "ApplicationSecurityGroup": "application_security_groups",
            "BastionHost": "bastion_hosts",
            "LoadBalancer": "load_balancers",
            "NatGateway": "nat_gateways",
            "NetworkInterface": "network_interfaces",
            "NetworkSecurityGroup": "network_security_groups",
            "PrivateDnsZoneGroup": "private_dns_zone_groups",
            "PrivateEndpoint": "private_endpoints",
            "PublicIPAddress": "public_ip_addresses",
            "RouteTable": "route_tables",
            "Subnet": "subnets",
            "VirtualNetwork": "virtual_networks",
        }.items()
    },
    "privatedns:PrivateRecordSet": Row("privatedns", "RecordSet", "_record_sets_operations.create_or_update"),
    "privatedns:PrivateZone": Row("privatedns", "PrivateZone", "_private_zones_operations.create_or_update"),
    "privatedns:VirtualNetworkLink": Row(
        "privatedns", "VirtualNetworkLink", "_virtual_network_links_operations.create_or_update"
    ),
    "resources:ResourceGroup": Row(
        "resource.resources",
        "ResourceGroup",
        "_operations.resource_groups_create_or_update",
        body=(("location", "the-providers-location"),),
    ),
    "storage:BlobContainer": Row("storage", "BlobContainer", "_blob_containers_operations.create"),
    "storage:BlobServiceProperties": Row(
        "storage", "BlobServiceProperties", "_blob_services_operations.set_service_properties", ("blob_services_name",)
    ),
    "storage:ManagementPolicy": Row("storage", "ManagementPolicy", "_management_policies_operations.create_or_update"),
    "storage:StorageAccount": Row("storage", "StorageAccountCreateParameters", "_storage_accounts_operations.create"),
}
"""By resource type without the provider's name."""
