"""The provider's functions (invokes) by token, and reads of the cloud state."""

from collections.abc import Callable
from typing import Any

from sandbox.cloud import Place, Refusal
from sandbox.cloud_state import CloudState
from sandbox.gcp.instances import INSTANCE
from sandbox.gcp.regions import AI_ZONES, IMAGES, NEWEST, zones
from sandbox.gcp.storage import BUCKET


def _only(arguments: dict[str, Any], *known: str) -> None:
    """Refuse arguments that the sandbox does not support."""
    if more := sorted(set(arguments) - set(known)):
        raise Refusal("invalid", f"the sandbox supports {', '.join(known)}, not {', '.join(more)}")


def client(place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """organizations.getClientConfig: project, region and zone of the provider; there is no token."""
    return {
        "accessToken": "",
        "defaultLabels": dict(place.default_tags),
        "id": f'projects/"{place.account}"/regions/"{place.region}"/zones/""',
        "project": place.account,
        "region": place.region,
        "zone": "",
    }


def names(place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """compute.getZones: the region's zones, also AI zones, all up."""
    _only(arguments, "project", "region", "status")
    region = arguments.get("region") or place.region
    found = [*AI_ZONES.get(region, []), *zones(region)] if arguments.get("status") in (None, "UP") else []
    known = {"project": arguments.get("project") or place.account, "region": region, "names": found}
    return known | {"id": f"projects/{known['project']}/regions/{region}", "status": arguments.get("status")}


def image(place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """compute.getImage: the newest image of a family, or an image by name."""
    _only(arguments, "project", "family", "name")
    project, family, name = (arguments.get(each) for each in ("project", "family", "name"))
    for known, (stem, size) in IMAGES.items():
        there, _, own = known.partition("/")
        newest = f"{stem}-{NEWEST}"
        if there == project and (family == own or name == newest):
            id = f"projects/{project}/global/images/{newest}"
            return {
                "archiveSizeBytes": size << 30,
                "creationTimestamp": "2025-11-12T00:00:00.000-08:00",
                "description": newest,
                "diskSizeGb": size,
                "family": own,
                "id": id,
                "imageId": newest,
                "licenses": [],
                "name": newest,
                "project": project,
                "selfLink": f"https://www.googleapis.com/compute/v1/{id}",
                "status": "READY",
            }
    wanted = f"family/{family}" if family else name
    message = f"The resource 'projects/{project}/global/images/{wanted}' was not found"
    raise Refusal("notFound", f"googleapi: Error 404: {message}")


def instance(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """compute.getInstance by name and zone."""
    _only(arguments, "name", "zone", "project")
    project = arguments.get("project") or place.account
    id = f"projects/{project}/zones/{arguments.get('zone')}/instances/{arguments.get('name')}"
    found = cloud_state.find(INSTANCE, id)
    if found is None:
        # the provider's function replaces Google's message (google/transport, HandleDataSourceNotFoundError)
        raise Refusal("notFound", f"{id} not found")
    known = ("creationTimestamp", "currentStatus", "instanceId", "labels", "machineType", "name", "networkInterfaces")
    account = found.outputs.get("serviceAccount")
    accounts = [{"email": account.get("email"), "scopes": account.get("scopes")}] if account else []
    known += ("project", "selfLink", "zone", "metadata", "canIpForward", "cpuPlatform")
    return {name: found.outputs.get(name) for name in known} | {
        "id": id,
        "creationTimestamp": found.created,
        "serviceAccounts": accounts,
    }


def text(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """storage.getBucketObjectContent: an object's content as text."""
    _only(arguments, "bucket", "name")
    bucket, name = arguments["bucket"], arguments["name"]
    stored = cloud_state.object(bucket, name)
    if stored is None:
        raise Refusal("notFound", f"googleapi: Error 404: No such object: {bucket}/{name}")
    return {
        "bucket": bucket,
        "content": stored.content.decode(),
        "contentType": stored.content_type,
        "id": f"{bucket}-{name}",
        "name": name,
        "selfLink": f"https://www.googleapis.com/storage/v1/b/{bucket}/o/{name}",
    }


def listing(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """storage.getBucketObjects: the objects with a name prefix, in name order."""
    _only(arguments, "bucket", "prefix", "matchGlob")
    bucket, prefix = arguments["bucket"], arguments.get("prefix", "")
    if cloud_state.find(BUCKET, bucket) is None:
        raise Refusal("notFound", "googleapi: Error 404: The specified bucket does not exist.")
    link = f"https://www.googleapis.com/storage/v1/b/{bucket}/o"
    found = [
        {"contentType": stored.content_type, "name": key, "selfLink": f"{link}/{key}", "storageClass": "STANDARD"}
        for key, stored in sorted(cloud_state.objects(bucket).items())
        if key.startswith(prefix)
    ]
    return {"bucket": bucket, "bucketObjects": found, "id": link, "prefix": prefix}


FUNCTIONS: dict[str, Callable[[Place, dict[str, Any]], dict[str, Any]]] = {
    "gcp:organizations/getClientConfig:getClientConfig": client,
    "gcp:compute/getZones:getZones": names,
    "gcp:compute/getImage:getImage": image,
}
READS: dict[str, Callable[[CloudState, Place, dict[str, Any]], dict[str, Any]]] = {
    "gcp:compute/getInstance:getInstance": instance,
    "gcp:storage/getBucketObjectContent:getBucketObjectContent": text,
    "gcp:storage/getBucketObjects:getBucketObjects": listing,
}
