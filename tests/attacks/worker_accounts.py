"""Workers of a pool on GCP with a service account each, their instances and requests."""

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from components.gcp.identity import BUILT_IN, ROLES, condition, rights
from sandbox.gcp.firewalls import ACCOUNT
from sandbox.gcp.rights import BUCKET_MEMBER, CUSTOM_ROLE
from sandbox.services.gcp import machine
from tests.cloud_init.accounts import GCP_PROJECT, GCP_ZONE, put
from tests.cloud_init.cloud import FakeCloud
from tests.components.recorded_wiring import plan


class Accounts:
    """Workers web-0 and web-1, each with an account of its own that has the rights which the program gives it."""

    def __init__(self, cloud: FakeCloud) -> None:
        self.cloud, self.state = cloud, cloud.services.cloud_state
        own_roles = {name: f"projects/{GCP_PROJECT}/roles/{name}" for name in ("records", "read")}
        roles = {**BUILT_IN, **own_roles}
        [group] = [each for each in plan("gcp-prod").pools if each.name == "web"]
        with self.state.transaction():
            for name, role in own_roles.items():
                given = {"roleId": name, "permissions": list(ROLES[name])}
                put(self.state, CUSTOM_ROLE, role, given, name=role)
            for own in ("web-0", "web-1"):
                account = f"projects/{GCP_PROJECT}/serviceAccounts/{self.email(own)}"
                put(self.state, ACCOUNT, account, {"accountId": own}, email=self.email(own))
                for grant in rights(group, own):
                    if grant.target == "bundles":
                        limited = condition("bundles", grant.name, grant.prefixes)
                        member = {"member": f"serviceAccount:{self.email(own)}", "role": roles[grant.role]}
                        given = {"bucket": "bundles", **member, "condition": limited}
                        put(self.state, BUCKET_MEMBER, f"{own} {grant.name}", given)
        self.tokens: dict[str, str] = {}

    def email(self, own: str) -> str:
        """Return the address of a worker's account."""
        return f"{own}@{GCP_PROJECT}.iam.gserviceaccount.com"

    def launch(self, own: str, instance: str) -> None:
        """Create the instance of a worker instead of the one before, and remember an access token of it."""
        id = f"projects/{GCP_PROJECT}/zones/{GCP_ZONE}/instances/pool-{own}"
        given: dict[str, Any] = {"name": f"pool-{own}", "zone": GCP_ZONE, "project": GCP_PROJECT}
        account = {"email": self.email(own), "scopes": ["cloud-platform"]}
        with self.state.transaction():
            for each in self.state.resources(machine.INSTANCE):
                if each.id == id:
                    self.state.remove(each.sequence)
            put(self.state, machine.INSTANCE, id, given | {"serviceAccount": account}, instanceId=instance)
        url = self.cloud.services.listen("127.0.0.1", machine=id)
        asked = Request(
            f"{url}/computeMetadata/v1/instance/service-accounts/default/token", headers={"Metadata-Flavor": "Google"}
        )
        with urlopen(asked) as answer:
            self.tokens[instance] = json.load(answer)["access_token"]

    def ask(self, method: str, key: str, instance: str, content: bytes | None = None) -> int:
        """Return the status of a request for an object of the bundle store, with the access token of an instance."""
        headers = {"Authorization": f"Bearer {self.tokens[instance]}"}
        asked = Request(f"{self.cloud.url}/bundles/{key}", data=content, headers=headers, method=method)
        try:
            with urlopen(asked) as answer:
                return answer.status
        except HTTPError as error:
            with error:
                return error.code
