"""From a change of the program: a rule or a right that opens the account, in code beside the component.

Seen in: the standard error of `up` and `mullion preview`, with the policy's name and the resource.
"""

from dataclasses import replace

import pytest

from policies.rules.exposure import AZURE_GROUP, FIREWALL
from tests.policies.cases import GROUP, INGRESS, ROLE, RULE, given
from tests.policies.cases_gcp import opened
from tests.policies.recorded import broken, resources

ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"


def violations(stack: str, kind: str, name: str, **properties: object) -> str:
    """Return what the policy pack says of a stack in which one resource has other properties."""
    changed = tuple(
        given(**properties)(resource) or resource if (resource.type, resource.name) == (kind, name) else resource
        for resource in resources(stack)
    )
    assert changed != resources(stack)
    return f"{broken(changed)}"


def azure_rule(**fields: object) -> dict[str, object]:
    return {"access": "Allow", "direction": "Inbound", "protocol": "Tcp", **fields}


@pytest.mark.parametrize("tag", ["AzureCloud", "AzureCloud.westeurope", "Internet", "Storage", "ApiManagement"])
def test_a_service_tag_of_azure_is_public(tag: str) -> None:
    """Open SSH to all customers of Azure, by a service tag instead of a range.

    Refused by: policy admin-ports-closed.
    """
    rule = azure_rule(sourceAddressPrefix=tag, destinationPortRange="22")
    said = violations("azure-prod", AZURE_GROUP, "azure-prod-workers", securityRules=[rule])
    assert f"{tag} can reach port 22 (SSH)" in said and "admin-ports-closed" in said


def test_a_rule_with_the_right_description_for_other_machines_is_refused() -> None:
    """Open workers to the internet with the description of the rule for people.

    Refused by: policy api-by-allow-list, which looks at the target too.
    """
    name = "gcp-prod-workers-kubelet-from-control-plane"
    why = "people, from the allow list"
    changed = tuple(
        replace(resource, properties={**(opened("6443")(resource) or resource).properties, "description": why})
        if (resource.type, resource.name) == (FIREWALL, name)
        else resource
        for resource in resources("gcp-prod")
    )
    said = broken(changed)
    assert [each for each in said["api-by-allow-list"] if "0.0.0.0/0 can reach port 6443" in each]
    rule = azure_rule(sourceAddressPrefix="*", destinationPortRange="6443", description=why)
    assert "can reach port 6443" in violations("azure-prod", AZURE_GROUP, "azure-prod-workers", securityRules=[rule])


@pytest.mark.parametrize(("port", "use"), [(10250, "kubelet"), (2379, "etcd"), (2380, "etcd")])
def test_kubelets_and_etcd_are_not_opened(port: int, use: str) -> None:
    """Open kubelets or etcd to the internet.

    Refused by: policy admin-ports-closed.
    """
    ports = {"fromPort": port, "toPort": port, "cidrIpv4": "0.0.0.0/0", "ipProtocol": "tcp"}
    said = violations("aws-prod", INGRESS, RULE, **ports)
    assert f"0.0.0.0/0 can reach port {port} ({use})" in said and "admin-ports-closed" in said
    inline = [{"protocol": "tcp", "fromPort": port, "toPort": port, "ipv6CidrBlocks": ["::/0"]}]
    assert f"({use})" in violations("aws-prod", GROUP, "aws-prod-workers", ingress=inline)


@pytest.mark.parametrize(
    "name", ["SecretsManagerReadWrite", "IAMReadOnlyAccess", "AdministratorAccess", "job-function/Billing"]
)
def test_a_managed_policy_gives_machines_no_more(name: str) -> None:
    """Give machines a policy of AWS that reads all secrets of the account.

    Refused by: policy permissions-narrow, which lists the few that machines can have.
    """
    arns = [f"arn:aws:iam::aws:policy/{name}"]
    said = violations("aws-prod", ROLE, "aws-prod-workers", managedPolicyArns=arns)
    assert f"it has the policy {name.rpartition('/')[2]}" in said and "permissions-narrow" in said
