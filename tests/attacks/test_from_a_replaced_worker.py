"""From a worker on Azure that a roll replaced: the tokens of its identities are valid for up to a day.

The user-assigned identity belongs to the name, so a stolen token of it may write what the successor may write.
"""

import base64
import importlib
import io
import json
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from types import ModuleType
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import pytest

from components.azure.identity import BUILT_IN, ROLES, condition
from components.wiring.access_rights import grants
from sandbox.azure.rights import ASSIGNMENT, DEFINITION
from sandbox.services.azure.machine import IDENTITY, MACHINE
from tests.agent.cluster import Cluster
from tests.agent.test_signing import GIVEN
from tests.cloud_init.accounts import AZURE_GROUP, AZURE_STORE, AZURE_VAULT, put
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.linux import NUMBER, OWN_TOKEN, TOKEN

pytestmark = pytest.mark.parametrize("cloud", ["azure"], indirect=True)

NAME, RECORDS = "web-1", "web-1:"
MEMBER = {"name": NAME, "pool": "web", "address": "10.20.1.5", "pods": None, "labels": {}, "taints": []}
SECRET = f"/api/v1/namespaces/kube-system/secrets/bootstrap-token-{OWN_TOKEN[:6]}"
VM = f"{AZURE_GROUP}/providers/Microsoft.Compute/virtualMachines/{NAME}"
SHARED = f"{AZURE_GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{NAME}"
BUNDLES = (
    f"{AZURE_GROUP}/providers/Microsoft.Storage/storageAccounts/{AZURE_STORE}/blobServices/default/containers/bundles"
)
VAULT = f"{AZURE_GROUP}/providers/Microsoft.KeyVault/vaults/{AZURE_VAULT}"
CLIENT = "aaaaaaaa-0000-4000-8000-000000000001"
"""Client id of the user-assigned identity of web-1."""
OLD, NEW = ("aaaaaaaa-0000-4000-8000-00000000000a", "aaaaaaaa-0000-4000-8000-00000000000b")
"""vmId of the machine that was replaced, and of its successor."""
UNSIGNED = (
    *("it is not an identity token", "it is not signed with RS256", "its signature is wrong"),
    "it has no token of the machine's system-assigned identity",
)
"""What the agent says of a token that Microsoft Entra ID did not sign."""
STORE, MANAGER = "https://storage.azure.com/", "https://management.azure.com/"


class Name:
    """The name web-1, with its user-assigned identity and a machine; another machine runs the agent."""

    def __init__(self, cloud: FakeCloud, module: Callable[[str], ModuleType], run: Any) -> None:
        self.cloud, self.module, self.run, self.api = cloud, module, run, Cluster()
        self.log = ""
        """What the agent said in its last round."""
        self.state = cloud.services.cloud_state
        limited = condition(each for each in grants(NAME) if each.prefixes)
        role = f"{AZURE_GROUP}/providers/Microsoft.Authorization/roleDefinitions/objects"
        given = {"principalId": "principal-of-web-1", "roleDefinitionId": role, "scope": BUNDLES, "condition": limited}
        join = {"roleDefinitionId": f"/{BUILT_IN['secret']}", "scope": f"{VAULT}/secrets/join"}
        with self.state.transaction():
            put(self.state, IDENTITY, SHARED, {}, clientId=CLIENT, principalId="principal-of-web-1")
            put(self.state, DEFINITION, role, {"permissions": [{"dataActions": ROLES["objects"]["data_actions"]}]})
            put(self.state, ASSIGNMENT, f"{BUNDLES}/objects", given)
            put(self.state, ASSIGNMENT, f"{VAULT}/join", given | {"condition": None} | join)
        self.url = cloud.services.listen("127.0.0.1", machine=VM)

    def launch(self, instance: str, kind: str = "SystemAssigned, UserAssigned", *, others: Sequence[str] = ()) -> None:
        """Create the machine of this name, and delete the one before."""
        before = self.state.find(MACHINE, VM)
        shown: dict[str, Any] = {"type": kind, "tenantId": "00000000-0000-4000-8000-00000000000a"}
        shown |= {"userAssignedIdentities": {each: {} for each in (SHARED, *others)}}
        if kind.startswith("System"):
            shown["principalId"] = instance.replace("-8000-", "-9000-")
        with self.state.transaction():
            if before:
                self.state.remove(before.sequence)
            put(self.state, MACHINE, VM, {}, vmId=instance, identity=shown)

    def token(self, resource: str, **identity: str) -> str:
        """Return a token that the present machine gets."""
        query = urlencode({"api-version": "2018-02-01", "resource": resource, **identity})
        asked = Request(f"{self.url}/metadata/identity/oauth2/token?{query}", headers={"Metadata": "true"})
        return json.load(urlopen(asked))["access_token"]

    def write(self, key: str, token: str, **fields: Any) -> int:
        """Write {number, ...} as a blob of the bundle store; return the status."""
        body = json.dumps({"number": NUMBER, **fields}).encode()
        headers = {"Authorization": f"Bearer {token}", "x-ms-version": "2023-11-03", "x-ms-blob-type": "BlockBlob"}
        try:
            asked = Request(f"{self.cloud.url}/bundles/{key}", data=body, headers=headers, method="PUT")
            with urlopen(asked) as answer:
                return answer.status
        except HTTPError as error:
            with error:
                return error.code

    def admitted(self) -> bool:
        """Run the agent; return whether the present machine of the name got a token for NUMBER."""
        members = {NAME: MEMBER | {"records": RECORDS}}
        seen = self.module("seen").Seen(self.run, self.api, **GIVEN | {"members": members})
        log = io.StringIO()
        with redirect_stdout(log):
            self.module("announcements").reconcile(seen)
        self.log = log.getvalue()
        return self.api.find(SECRET) is not None


@pytest.fixture
def name(cloud: FakeCloud, module: Callable[[str], ModuleType], run: Any) -> Name:
    """Return the name with its first machine."""
    cloud.secrets["join"] = TOKEN
    azure = importlib.import_module("clouds.azure")
    azure._published.clear()
    azure._identities.clear()
    made = Name(cloud, module, run)
    made.launch(OLD)
    return made


class Stolen:
    """Tokens of the replaced machine, of which the thief uses one to write the successor's announcement."""

    def __init__(self, name: Name) -> None:
        self.name = name
        self.shared = name.token(STORE, client_id=CLIENT)
        self.of_both = {
            "the user-assigned identity": name.token(MANAGER, client_id=CLIENT),
            "the machine before": name.token(MANAGER),
        }
        name.launch(NEW)

    def announce(self, **fields: Any) -> None:
        """Announce the successor with a number of the thief's own, as the rights of the name allow."""
        assert self.name.write(f"join/{RECORDS}{NEW}.json", self.shared, instance=NEW, **fields) == 201


@pytest.fixture
def stolen(name: Name) -> Stolen:
    """Return the tokens, once the machine was replaced."""
    return Stolen(name)


def refusal(why: str) -> str:
    """Return the agent's line about an announcement that it refuses."""
    return f"mullion: the announcement of machine {NEW} for {NAME} is refused: {why}\n"


def _announced(name: Name) -> dict[str, Any]:
    """Let the executor of the present machine announce it; return the announcement."""
    announcing, loader, run = (importlib.import_module(each) for each in ("announcing", "loader", "run"))
    facts = {**name.cloud.facts, "identity": CLIENT, "secret_service": name.url, "bundle_store": f"{name.url}/bundles"}
    facts["status_url"] = f"{name.url}/bundles/status/{quote(RECORDS)}"
    here = run.Run(name.run.root / NAME, {"machine": {"name": NAME}, "facts": facts}, {})
    here.try_for(60)
    here.path(announcing.NUMBER).parent.mkdir(parents=True)
    here.path(announcing.NUMBER).write_text(NUMBER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loader, "METADATA", name.url)
        assert announcing.announce(here, "join") == OWN_TOKEN
    return json.loads(name.cloud.objects[f"/bundles/join/{RECORDS}{NEW}.json"])


def test_the_successor_itself_is_admitted(stolen: Stolen) -> None:
    """Not an attack: the announcement that the executor writes, with a token of the metadata service."""
    _announced(stolen.name)
    assert stolen.name.admitted()


def test_an_announcement_without_a_token_admits_nobody(stolen: Stolen) -> None:
    """Announce the successor of your machine, with a number whose bootstrap token you know.

    Refused by: the agent, which asks for a token of the successor's system-assigned identity.
    Seen in: the agent's log: `the announcement of machine ID for NAME is refused`, because it has no token.
    """
    stolen.announce()
    assert not stolen.name.admitted()
    assert stolen.name.log == refusal("it has no token of the machine's system-assigned identity")
    assert not stolen.name.api.asked


def test_tokens_of_the_replaced_machine_admit_nobody(stolen: Stolen) -> None:
    """Announce the successor of your machine with a token of either identity of your machine.

    Refused by: the agent, by the principal: the successor's is another one, and no name has it.
    Seen in: the agent's log: `the announcement of machine ID for NAME is refused`, because `its claim oid has another
    value`.
    """
    for whose, token in stolen.of_both.items():
        stolen.announce(identity=token)
        assert not stolen.name.admitted(), whose
        assert stolen.name.log == refusal("its claim oid has another value")


def test_a_token_that_entra_did_not_sign_admits_nobody(stolen: Stolen) -> None:
    """Write the successor's principal into a token, and sign it yourself or not at all.

    Refused by: the agent, which accepts only RS256 with a published key.
    Seen in: the agent's log: `the announcement of machine ID for NAME is refused`, with what is wrong with the token.
    """
    good = stolen.name.token(MANAGER)
    head, claims, signature = good.split(".")
    other = stolen.of_both["the machine before"].rpartition(".")[2]
    none = base64.urlsafe_b64encode(json.dumps({"alg": "none", "kid": "sandbox-1"}).encode()).decode().rstrip("=")
    for forged in (
        f"{head}.{claims}.{other}",
        f"{none}.{claims}.",
        f"{none}.{claims}.{signature}",
        f"{head}.{claims}.",
        f"{good}AAAA",
        "",
        20_000 * "[",
        *(None, 7, [good], {"a": good}),
    ):
        stolen.announce(identity=forged)
        assert not stolen.name.admitted(), f"{forged}"[:80]
        assert stolen.name.log in map(refusal, UNSIGNED), f"{forged}"[:80]
    stolen.announce(identity=good)
    assert stolen.name.admitted(), "the same token with its true signature"


@pytest.mark.parametrize("resource", [STORE, "https://vault.azure.net"])
def test_a_token_for_another_service_admits_nobody(stolen: Stolen, resource: str) -> None:
    """Announce a machine with a token that it sent to another service.

    Refused by: the agent, by the token's audience.
    Seen in: the agent's log: `the announcement of machine ID for NAME is refused`, because `its claim aud has another
    value`.
    """
    stolen.announce(identity=stolen.name.token(resource))
    assert not stolen.name.admitted()
    assert stolen.name.log == refusal("its claim aud has another value")


def test_keys_that_cannot_be_read_admit_nobody(stolen: Stolen) -> None:
    """Keep the agent from reading the keys of Microsoft Entra ID, to be admitted without verification.

    Refused by: the agent, which waits and reports the error.
    Seen in: the agent's log and the status record, with the error of the request.
    """
    stolen.name.cloud.services.faults.plan("* /common/discovery/keys", "status", 503, times=1000)
    stolen.announce(identity=stolen.name.token(MANAGER))
    with pytest.raises((OSError, RuntimeError), match="503"):
        stolen.name.admitted()
    assert not stolen.name.api.asked
    stolen.name.cloud.release()


def test_a_token_of_the_system_assigned_identity_reaches_no_object(stolen: Stolen) -> None:
    """Read announcements in the bundle store, and use the tokens in them.

    Refused by: the cloud: the identity of the token has no rights.
    Seen in: the cloud's audit log, with 403 for the identity.
    """
    for key in (f"join/{RECORDS}{NEW}.json", f"status/{RECORDS}{NEW}.json"):
        assert stolen.name.write(key, stolen.name.token(STORE), instance=NEW) == 403


@pytest.mark.parametrize("others", [(), (SHARED.replace(NAME, "policy"),)], ids=["alone", "with one of a policy"])
def test_an_announcement_has_no_token_of_an_identity_with_rights(name: Name, others: Sequence[str]) -> None:
    """Look in the announcement of a control plane for a token with which you can read its keys.

    Refused by: the executor, which writes no token of the user-assigned identity.
    Seen in: the announcement in the bundle store, which has number and instance only.
    """
    name.launch(NEW, "UserAssigned", others=others)
    assert set(_announced(name)) == {"number", "instance"}
    assert name.admitted(), "a machine without a system-assigned identity needs no token"
