"""Resources of an AWS account, as all its management APIs read and delete them."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from sandbox.aws.cloud import AWS
from sandbox.cloud import Place, Refusal, Request
from sandbox.cloud_state import CloudState
from sandbox.provider import Provider
from sandbox.records import Record
from sandbox.services import xml
from sandbox.services.calls import Answer, Call, Refused

_BY_PROVIDER = ("forceDestroy", "forceDetachPolicies", "revokeRulesOnDelete")
"""Inputs that make the provider delete more than the API's call would."""


@dataclass(frozen=True)
class Holdings:
    """The resources of one account, seen in one region."""

    cloud_state: CloudState
    region: str

    def all(self, type: str) -> list[Record]:
        """Return the resources of a type in the region."""
        return [one for one in self.cloud_state.resources(type) if one.region == self.region]

    def get(self, type: str, id: str, code: str, *, anywhere: bool = False) -> Record:
        """Return a resource. Raises Refused with the code if there is none in the region."""
        found = self.cloud_state.find(type, id)
        if found is None or not (anywhere or found.region == self.region):
            raise Refused(code, f"The resource '{id}' does not exist", 404 if code.startswith("NoSuch") else 0)
        return found

    def delete(self, record: Record, **changes: Any) -> None:
        """Delete a resource as the cloud does when its API is called. Raises Refused."""
        given = {name: value for name, value in record.inputs.items() if name not in _BY_PROVIDER} | changes
        try:
            self._provider(record).delete(record.urn, record.id, given)
        except Refusal as refusal:
            raise Refused(refusal.code, refusal.message) from None

    def check_deletion(self, record: Record) -> None:
        """Apply the rules for deleting this type, without deleting the resource. Raises Refused."""
        place = Place(AWS.account, record.region)
        request = Request(record.type, record.inputs, self.cloud_state, place, record.sequence, record.id, record)
        try:
            for rule in AWS.types[record.type].delete_rules:
                rule(request)
        except Refusal as refusal:
            raise Refused(refusal.code, refusal.message) from None

    def change(self, record: Record, without: str) -> None:
        """Remove one input of a resource."""
        inputs = {name: value for name, value in record.inputs.items() if name != without}
        state = {name: value for name, value in record.outputs.items() if name != without}
        self._provider(record).update(record.urn, record.id, state, inputs, preview=False)

    def _provider(self, record: Record) -> Provider:
        provider = Provider(AWS, self.cloud_state)
        provider.configure({AWS.region: record.region})
        return provider


def fields(call: Call) -> dict[str, str]:
    """Return the fields of a Query API's call."""
    return dict(parse_qsl(call.body.decode(), keep_blank_values=True))


def listed(given: Mapping[str, str], name: str) -> list[str]:
    """Return a numbered list of a Query API: NAME.1, NAME.2, ..."""
    return [value for key, value in given.items() if key.startswith(f"{name}.") and key[len(name) + 1 :].isdigit()]


def filters(given: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the filters of a call of EC2: values by name."""
    numbers = [key.removesuffix(".Name") for key in given if key.startswith("Filter.") and key.endswith(".Name")]
    return {given[f"{number}.Name"]: listed(given, f"{number}.Value") for number in numbers}


def tags(record: Record, item: str = "") -> Any:
    """Return tags as XML has them; item: name of each one's element."""
    rows = [{"Key": key, "Value": value} for key, value in record.tags.items()]
    return {item: rows} if item else rows


def document(action: str, namespace: str, result: dict[str, Any], *, wrapped: bool = True) -> Answer:
    """Return the XML answer to an action. wrapped: the content is inside <ActionResult>, as everywhere but in EC2."""
    request = str(uuid.uuid4())
    content = (
        {f"{action}Result": result, "ResponseMetadata": {"RequestId": request}}
        if wrapped
        else {"requestId": request, **result}
    )
    return Answer(200, xml.document(f"{action}Response", content, namespace), {"content-type": "text/xml"})
