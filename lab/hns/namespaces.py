"""Namespaces (network compartments) of pods, which containerd creates and CNI plugins put endpoints into."""

from lab.hns import shapes
from lab.hns.errors import Code, HnsError
from lab.hns.service import Object, Service, upper

TYPES = frozenset({"Host", "HostDefault", "Guest", "GuestDefault"})


def create(service: Service, wanted: str, text: str) -> Object:
    """Create a namespace with a compartment of its own; compartment 1 is the host's."""
    document = shapes.read("Namespace", text)
    if document.setdefault("Type", "Host") not in TYPES:
        raise HnsError(Code.PARAMETER, f"namespace of type {document['Type']}")
    last = max((each["NamespaceId"] for each in service.all("Namespace")), default=1)
    return service.add("Namespace", {**document, "NamespaceId": last + 1, "Resources": []}, wanted)


def modify(service: Service, guid: str, text: str) -> None:
    """Add or remove an endpoint (hcsshim AddNamespaceEndpoint); other resources are not imitated."""
    namespace, request = service.get("Namespace", guid), shapes.read("Request", text)
    if request.get("ResourceType") != "Endpoint":
        raise HnsError(Code.UNSUPPORTED, f"{request.get('ResourceType')} of a namespace")
    endpoint = service.get("Endpoint", (request.get("Settings") or {}).get("EndpointId", ""))
    resource = {"Type": "Endpoint", "Data": {"Id": endpoint["ID"]}}
    if request.get("RequestType") == "Add":
        if endpoint.get("HostComputeNamespace"):
            raise HnsError(Code.IN_OTHER_NAMESPACE, endpoint["Name"])
        namespace["Resources"].append(resource)
        endpoint["HostComputeNamespace"] = namespace["ID"]
    elif request.get("RequestType") == "Remove":
        if resource not in namespace["Resources"]:
            raise HnsError(Code.NOT_FOUND, f"{endpoint['Name']} is not in {namespace['ID']}")
        namespace["Resources"].remove(resource)
        del endpoint["HostComputeNamespace"]
    else:
        raise HnsError(Code.UNSUPPORTED, f"{request.get('RequestType')} of an endpoint of a namespace")


def delete(service: Service, guid: str) -> None:
    """Delete a namespace; its endpoints stay, outside any."""
    namespace = service.get("Namespace", guid)
    for endpoint in service.all("Endpoint"):
        if upper(endpoint.get("HostComputeNamespace", "")) == namespace["ID"]:
            del endpoint["HostComputeNamespace"]
    del service.objects["Namespace"][namespace["ID"]]
