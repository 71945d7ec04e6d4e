"""Route 53 for the account's owner. Source: Amazon Route 53 API reference, version 2013-04-01."""

import re
import xml.etree.ElementTree as ET
from typing import Any

from sandbox.aws.route53 import RECORD, ZONE
from sandbox.records import Record
from sandbox.services import xml
from sandbox.services.aws.owner.holdings import Holdings, tags
from sandbox.services.calls import Answer, Call, Refused

NAMESPACE = "https://route53.amazonaws.com/doc/2013-04-01/"
_PATH = re.compile(r"/2013-04-01/(?P<tags>tags/)?hostedzone(?:/(?P<id>[A-Z0-9]+))?(?P<records>/rrset/?)?")


def answer(holdings: Holdings, call: Call) -> Answer:
    """Answer a call. Raises Refused."""
    place = _PATH.fullmatch(call.path)
    if not place:
        raise Refused("InvalidAction", f"the sandbox does not support {call.method} {call.path}")
    if not place["id"]:
        rows = [_row(one) for one in holdings.cloud_state.resources(ZONE)]
        return _xml("ListHostedZonesResponse", {"HostedZones": {"HostedZone": rows}, "IsTruncated": False})
    zone = holdings.get(ZONE, place["id"], "NoSuchHostedZone", anywhere=True)
    if place["tags"]:
        return _xml("ListTagsForResourceResponse", {"ResourceTagSet": {"Tags": tags(zone, "Tag")}})
    if place["records"]:
        return _records(holdings, zone) if call.method == "GET" else _change(holdings, zone, call)
    if call.method == "DELETE":
        holdings.delete(zone)
        return _xml("DeleteHostedZoneResponse", {})
    return _xml("GetHostedZoneResponse", {"HostedZone": _row(zone)})


def _xml(root: str, values: dict[str, Any]) -> Answer:
    return Answer(200, xml.document(root, values, NAMESPACE), {"content-type": "text/xml"})


def _row(one: Record) -> dict[str, Any]:
    return {"Id": f"/hostedzone/{one.id}", "Name": f"{one.inputs['name'].rstrip('.')}."}


def _of(holdings: Holdings, zone: Record) -> list[Record]:
    return [one for one in holdings.cloud_state.resources(RECORD) if one.inputs["zoneId"] == zone.id]


def _name(one: Record) -> str:
    return f"{one.outputs['fqdn'].rstrip('.')}."


def _records(holdings: Holdings, zone: Record) -> Answer:
    """Return the records, with the two that every zone has."""
    apex = _row(zone)["Name"]
    rows = [{"Name": apex, "Type": type, "TTL": 172800} for type in ("NS", "SOA")]
    rows += [{"Name": _name(one), "Type": one.inputs["type"]} for one in _of(holdings, zone)]
    content = {"ResourceRecordSets": {"ResourceRecordSet": rows}, "IsTruncated": False}
    return _xml("ListResourceRecordSetsResponse", content)


def _change(holdings: Holdings, zone: Record, call: Call) -> Answer:
    """Delete records. Raises Refused for one that does not exist."""
    known = {(_name(one), one.inputs["type"]): one for one in _of(holdings, zone)}
    for change in ET.fromstring(call.body).iter(f"{{{NAMESPACE}}}Change"):  # noqa: S314  # expat reads no external entities
        texts = {each.tag.rpartition("}")[2]: each.text for each in change.iter()}
        found = known.get((texts["Name"] or "", texts["Type"] or ""))
        if texts["Action"] != "DELETE" or found is None:
            raise Refused(
                "InvalidChangeBatch", f"Tried to delete {texts['Name']} {texts['Type']}, but it was not found"
            )
        holdings.delete(found)
    return _xml("ChangeResourceRecordSetsResponse", {"ChangeInfo": {"Status": "PENDING"}})
