"""By signing in: with a token that was not made for this cluster, or with one that claims names of the system."""

import time
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.attacks import audit
from tests.lab.agent.served import Served
from tests.lab.agent.sign_in import OURS, SECRETS, asked

pytestmark = pytest.mark.lab


@pytest.mark.parametrize(
    "claims",
    [{"groups": ["system:masters"]}, {"sub": "system:admin"}, {"sub": "system:node:web-0", "groups": ["system:nodes"]}],
    ids=["group-of-the-system", "user-of-the-system", "node"],
)
def test_a_token_cannot_name_a_user_or_group_of_the_system(sign_in: Served, claims: dict[str, Any]) -> None:
    """Name yourself system:admin, a node, or a member of system:masters at the provider.

    Refused by: the prefix of api.oidc; the API server finds no role for it.
    Seen in: the audit log, with 403 and the user `oidc:NAME`.
    """
    answer = asked(sign_in, SECRETS, sign_in.issuer.token(**claims, **OURS))
    assert answer["code"] == 403
    assert 'User "oidc:' in answer["message"]
    audit.refused(sign_in, 403, SECRETS, user=f"oidc:{claims.get('sub', 'ada')}", says="cannot list resource")


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another-client"},
        {"iss": "https://127.0.0.1:1"},
        {"exp": int(time.time()) - 60},
        {"tenant": "another"},
        {"algorithm": "none"},
        {"key": rsa.generate_private_key(public_exponent=65537, key_size=2048)},
    ],
    ids=["other-client", "other-issuer", "expired", "other-tenant", "unsigned", "other-key"],
)
def test_a_token_that_is_not_for_this_cluster_is_refused(sign_in: Served, claims: dict[str, Any]) -> None:
    """Use a token of another client, provider or tenant, an expired one, or one that you signed yourself or not at all.

    Refused by: the API server.
    Seen in: the audit log, with 401 and no user.
    """
    token = sign_in.issuer.token(**{"groups": ["admins"], **OURS, **claims})
    before = len(audit.events(sign_in))
    assert asked(sign_in, SECRETS, token)["code"] == 401
    audit.refused(sign_in, 401, SECRETS, user="", says="", since=before)
