"""Rights are judged when a worker answers, not only when a person asks: they may be gone by then."""

from datetime import datetime, timezone
from typing import Any

import pytest

from tests.portal.conftest import PASSWORD
from tests.portal.test_api import Api, approver, made
from tests.portal.test_changes import SignIn, built
from tests.portal.test_kubeconfig import KEY, answer_inquiries, inquiry, issuing, subject

__all__ = ["issuing"]  # a fixture
NOW = datetime.now(timezone.utc)


@pytest.mark.parametrize(
    ("model", "values", "said"),
    [
        ("Membership", {"team": 2}, "You are not in team red"),
        ("User", {"is_active": False}, "its owner may not sign in"),
        ("Token", {"revoked_at": NOW}, "The token is revoked"),
        ("Cluster", {"state": "removing"}, "is not built"),
    ],
)
def test_who_lost_the_right_while_the_inquiry_waited_is_refused(
    model: str, values: dict[str, Any], said: str, sign_in: SignIn, issuing: list[list[str]]
) -> None:
    from portal import models

    built(sign_in("alice"))
    Api(made("alice")).call("POST", "/clusters/red-one/kubeconfig", {"public_key": KEY["public"]})
    rows = getattr(models, model).objects
    (rows.filter(username="alice") if model == "User" else rows.filter()).update(**values)
    answer_inquiries()
    assert (inquiry().state, issuing, inquiry().answer) == ("failed", [], None)
    assert said in inquiry().said
    assert models.Event.objects.filter(action="kubeconfig.refuse", team="red").count() == 1


def test_who_asked_on_the_page_and_may_not_sign_in_any_more_is_refused(
    sign_in: SignIn, issuing: list[list[str]]
) -> None:
    from portal.models import User

    client = sign_in("alice")
    built(client)
    client.post("/clusters/red-one/kubeconfig/", {"public_key": KEY["public"]})
    User.objects.filter(username="alice").update(is_active=False)
    answer_inquiries()
    assert (issuing, "may not sign in any more" in inquiry().said) == ([], True)


def test_the_role_is_that_of_the_time_at_which_a_worker_signs(sign_in: SignIn, issuing: list[list[str]]) -> None:
    from portal.models import Event, Membership, User

    User.objects.create_user("carol", password=PASSWORD)
    approver("carol")
    built(sign_in("alice"))
    sign_in("carol").post("/clusters/red-one/kubeconfig/", {"public_key": KEY["public"]})
    Membership.objects.filter(user__username="carol").update(role=Membership.Role.MEMBER)
    answer_inquiries()
    assert subject(inquiry().answer["certificate"])[1] == {"mullion:role:view", "mullion:team:red"}
    roles = [Event.objects.get(action=f"kubeconfig.{each}").detail["role"] for each in ("ask", "done")]
    assert roles == ["cluster-admin", "view"]
