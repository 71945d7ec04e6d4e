"""`mullion sbom`: the software on a stack's machines, as a CycloneDX bill of materials.

The control plane and each pool depend on an operating system, on downloads (with their digests) and on container
images. The same stack file gives the same bytes. Schema: CycloneDX 1.6 (ECMA-424).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from uuid import NAMESPACE_URL, uuid5

from components import releases
from components.catalogue.artifacts import Artifact, UnknownArtifact
from components.node.downloads import wanted
from components.node.role import role
from components.plan import ClusterPlan, MachineGroup, plan_cluster
from components.plan.images import started_images
from components.version import VERSION
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files

Component = dict[str, Any]
"""A component of the bill, as JSON."""

ALGORITHMS = {"sha256": "SHA-256", "sha512": "SHA-512"}


def sbom(name: str, output: Path | None) -> None:
    """Write the bill of materials of a stack to a file, or print it."""
    bill = document(plan_cluster(name, stack_files.load(name).spec))
    text = json.dumps(bill, indent=2) + "\n"
    if output is None:
        print(text, end="")
        return
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        raise Stop(Exit.USAGE, f"-o {output}: {error}; name a file that can be written") from error
    print(f"{len(bill['components'])} components of {name} in {output}")


def document(planned: ClusterPlan) -> dict[str, Any]:
    """Return the bill of materials of a cluster. Raises Stop for a download that is not in the tables."""
    cluster = _component("platform", f"cluster/{planned.name}", planned.name, planned.spec.kubernetes)
    components: dict[str, Component] = {}
    depends_on: dict[str, list[str]] = {cluster["bom-ref"]: []}
    for group in planned.machine_groups:
        pool = None if group.is_control_plane else group.name
        part = _component("platform", f"pool/{group.name}", group.name, machines=str(len(group.machines)))
        parts = {each["bom-ref"]: each for each in _parts(planned, group, pool)}
        components |= {part["bom-ref"]: part} | parts
        depends_on[cluster["bom-ref"]].append(part["bom-ref"])
        depends_on[part["bom-ref"]] = sorted(parts)
    content = {
        "metadata": {
            "component": cluster,
            "tools": {"components": [{"type": "application", "name": "mullion", "version": VERSION}]},
        },
        "components": [components[reference] for reference in sorted(components)],
        "dependencies": [{"ref": reference, "dependsOn": parts} for reference, parts in depends_on.items()],
    }
    # a hash of the content, so the same stack gives the same file
    number = uuid5(NAMESPACE_URL, json.dumps(content)).urn
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": number, "version": 1, **content}


def _parts(planned: ClusterPlan, group: MachineGroup, pool: str | None) -> Iterator[Component]:
    yield _operating_system(group)
    subject = role(planned.name, planned.spec, pool)
    for download in wanted(subject):
        try:
            yield _download(subject.catalogue.find(download.name, download.version, subject.system))
        except UnknownArtifact as error:
            raise Stop(Exit.REFUSED, f"{group.name}: {error}") from error
    for image in started_images(planned, group):
        yield _image(image)


def _operating_system(group: MachineGroup) -> Component:
    os, image = group.os.value, group.image
    build = releases.windows(os).build if group.os.is_windows else None
    chosen = {"machine-image": image or "the newest at the first `up`, then kept"}
    return _component("operating-system", f"os/{os}/{image or 'newest'}", os, build, **chosen)


def _download(artifact: Artifact) -> Component:
    reference = f"download/{artifact.os}/{artifact.name}@{artifact.version}"
    component = _component(
        "application", reference, artifact.name, artifact.version, **{"digest-source": artifact.source}
    )
    hashes = {"hashes": [_hash(artifact.digest)]} if artifact.is_pinned else {}
    qualifiers = {"download_url": artifact.url, **({"checksum": artifact.digest} if artifact.is_pinned else {})}
    package = f"pkg:generic/{quote(artifact.name)}@{quote(artifact.version)}?{_qualifiers(qualifiers)}"
    source = {"type": "distribution", "url": artifact.url, **hashes}
    return {**component, "purl": package, "externalReferences": [source], **hashes}


def _image(image: str) -> Component:
    """Return the component of an image: registry/path[:tag][@sha256:digest]."""
    tagged, _, digest = image.partition("@")
    folder, slash, name = tagged.rpartition("/")
    name, _, tag = name.partition(":")
    path = f"{folder}{slash}{name}"
    qualifiers = _qualifiers({"repository_url": path, **({"tag": tag} if tag else {})})
    package = f"pkg:oci/{quote(name)}{'@' + quote(digest, safe='') if digest else ''}?{qualifiers}"
    component = _component("container", f"image/{image}", path, tag or digest or None)
    return {**component, "purl": package, **({"hashes": [_hash(digest)]} if digest else {})}


def _component(kind: str, reference: str, name: str, version: str | None = None, **properties: str) -> Component:
    fields: Component = {"type": kind, "bom-ref": reference, "name": name}
    if version is not None:
        fields["version"] = version
    if properties:
        fields["properties"] = [{"name": f"mullion:{key}", "value": value} for key, value in properties.items()]
    return fields


def _hash(digest: str) -> dict[str, str]:
    algorithm, _, digits = digest.partition(":")
    return {"alg": ALGORITHMS[algorithm], "content": digits}


def _qualifiers(qualifiers: dict[str, str]) -> str:
    """Return the qualifiers of a package URL: sorted by name, percent-encoded."""
    return urlencode(sorted(qualifiers.items()), quote_via=quote, safe="")
