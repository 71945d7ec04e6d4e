"""The static website with the public documents of a cluster's issuer, in a storage account of its own.

A static website serves its container `$web` to everybody over HTTPS, also if the account forbids anonymous access to
containers ("Static website hosting in Azure Storage"), which policies of many subscriptions demand. So do the tests of
Microsoft's webhook (Azure/azure-workload-identity#1359). The account has nothing else.
"""

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import storage as azure

from components.azure.place import Place
from components.azure.storage import storage_account
from components.machine import issuer as documents
from components.spec.pod_identity import DISCOVERY, KEYS
from components.wiring.context import ClusterContext
from components.wiring.stores import JSON, after

PURPOSE = "issuer"
WEB = "$web"
"""Container of the website, which Azure creates with it."""


class IssuerWebsite:
    """The storage account, its website, and the two documents.

    It is not protected, because `protect` must not keep the option from going: each run can write it again.
    """

    url: Output[str]
    """URL of the issuer."""
    reachable: Output[str]
    """The same; resolves once both documents are published."""

    def __init__(self, context: ClusterContext, place: Place, parent: pulumi.Resource) -> None:
        cluster = context.plan.name
        self._cluster, self._place, self._parent = cluster, place, parent
        name = f"{cluster}-{PURPOSE}"
        # Entra ID reads the documents from addresses that it does not publish
        everybody = {"default_action": "Allow", "bypass": "None"}
        self._account = storage_account(context, PURPOSE, everybody, place.here(parent, azure.StorageAccount, name))
        self._site = azure.StorageAccountStaticWebsite(
            name,
            account_name=self._account.name,
            # off goes with the account: switching it off needs rights on the account's data service
            opts=ResourceOptions(parent=parent, deleted_with=self._account),
            **place.within,
        )
        address = self._account.primary_endpoints.apply(lambda endpoints: endpoints.web)
        self.url = address.apply(lambda url: f"https://{url.rpartition('://')[2].rstrip('/')}")
        published = (
            self._publish("discovery", DISCOVERY, self.url.apply(documents.discovery)),
            self._publish("keys", KEYS, context.generated.published_keys.apply(documents.key_set)),
        )
        self.reachable = self.url
        for blob in published:
            self.reachable = after(blob, self.reachable)

    def _publish(self, name: str, key: str, text: Output[str]) -> azure.Blob:
        return azure.Blob(
            f"{self._cluster}-{PURPOSE}-{name}",
            account_name=self._account.name,
            container_name=self._site.container_name,
            blob_name=key,
            source=text.apply(pulumi.StringAsset),
            content_md5=text.apply(documents.md5),
            content_type=JSON,
            # a changed `source` replaces the blob, and its name is fixed: delete it first
            opts=ResourceOptions(parent=self._parent, delete_before_replace=True, deleted_with=self._account),
            **self._place.within,
        )
