"""Calls of people who sign in to a real API server with a token of the issuer."""

import json
from typing import Any

from tests.awaited import until
from tests.lab.agent.served import Served

SECRETS = "/api/v1/namespaces/kube-system/secrets"
PODS = "/api/v1/pods"
OURS = {"tenant": "ours"}
"""The claim that the stack file requires."""


def ready(served: Served) -> None:
    """Create the bindings of the plan, and wait until the API server knows the provider's keys."""
    place = served.folder / "sign-in.json"
    place.write_text(json.dumps(served.plan.content("addon-sign-in")))
    served.kubectl("apply", "--filename", str(place))
    # the API server looks for its provider's keys every ten seconds; a controller gives the role view its rules
    token = served.issuer.token(groups=["viewers"], **OURS)
    until(lambda: "items" in asked(served, PODS, token), "a viewer lists pods", seconds=60)


def asked(served: Served, path: str, token: str) -> Any:
    """Return the API's answer to the bearer of a token."""
    return served.call({"token": token}, "GET", path)
