"""Gate of changes that no run can make to a built cluster. The state keeps the spec: the component's inputs.

A resource hook of the engine compares them with the stack file's, in previews too, so plain `pulumi up` has this gate.
The component is registered before all its resources, so a refused spec changes nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pulumi import ResourceHook, ResourceHookArgs, ResourceHookBinding, ResourceHookOptions
from pydantic import ValidationError

from components.spec.choices import Cloud, TokenIssuer
from components.spec.kubeadm_flags import flags
from components.spec.models import CloudController, ClusterSpec


def built_spec(document: Any) -> ClusterSpec | None:
    """Return the spec of the component's inputs or of a plan document; None if it cannot be read."""
    try:
        return ClusterSpec.model_validate(document) if isinstance(document, Mapping) else None
    except ValidationError:  # written by a version of Mullion with other options
        return None


def refusals(built: ClusterSpec, now: ClusterSpec) -> list[str]:
    """Return path, reason and fix of each change that takes what the cluster's own objects need."""
    faults: list[str] = []
    if built.cloud_controller is CloudController.EXTERNAL and now.cloud_controller is CloudController.NONE:
        faults.append(
            "cloud_controller: without its controller nothing keeps or removes the load balancers of Services, and"
            " `down` would not look for them. Write external, or remove the cluster and build it again"
        )
    if lost := " and ".join(each.value for each in built.csi if each not in now.csi):
        faults.append(
            f"csi: without {lost} nothing attaches or deletes the volumes that it made, and their pods stop at the next"
            " restart. Keep it, or remove the cluster and build it again"
        )
    if built.gmsa.plugin and not (now.gmsa.plugin or now.gmsa.keep_policy):
        faults.append(
            "gmsa.plugin: Windows machines have the plug-in until they are replaced, and without the policy a pod there"
            " could have every gMSA. Write gmsa.keep_policy: true, and remove it after an `up` that ended well: it has"
            " replaced all Windows machines. Keep it as long as `images` names an image that has the plug-in"
        )
    if now.gmsa.plugin and not built.gmsa.judges_pods:
        faults.append(
            "gmsa.plugin: Windows machines could have the plug-in before the cluster has the policy, and a pod there"
            " every gMSA. Write gmsa.keep_policy: true without the plug-in, and the plug-in once `mullion wait` ends"
        )
    return [*faults, *_etcd_disk(built, now), *_issuer(built, now), *_own_issuer(built, now)]


def _etcd_disk(built: ClusterSpec, now: ClusterSpec) -> Iterator[str]:
    """Yield why GCP's disks cannot go: they are resources, and the engine would take them from running members."""
    if built.cloud is Cloud.GCP and built.control_plane.etcd_disk and not now.control_plane.etcd_disk:
        yield (
            "control_plane.etcd_disk: on GCP the disks would be deleted while etcd uses them. Keep it, or remove the"
            " cluster and build it again"
        )


def _issuer(built: ClusterSpec, now: ClusterSpec) -> Iterator[str]:
    """Yield why an issuer cannot come or go at once: an API server that does not know it refuses its tokens."""
    before, after = built.pod_identity, now.pod_identity
    if now.cloud is Cloud.GCP:  # no issuer changes
        return
    if before and not after and before.issuer is TokenIssuer.SIGNS:
        yield (
            "pod_identity: without it API servers refuse the tokens that they have signed for its issuer. Write issuer:"
            " accepted, and remove pod_identity a day after that `up`, when kubelets have renewed all tokens"
        )
    most = max(built.control_plane.count, now.control_plane.count)
    if after and not before and after.issuer is TokenIssuer.SIGNS and most > 1:
        yield (
            "pod_identity.issuer: control planes change one after the other, and one that has not changed refuses the"
            " tokens of a new issuer. Write issuer: accepted, and remove that line once `mullion wait` ends"
        )


def _own_issuer(built: ClusterSpec, now: ClusterSpec) -> Iterator[str]:
    """Yield why pod_identity cannot take the place of an issuer that the user has set."""
    lost = [each for each in _issuers(built) if each not in _issuers(now)]
    if now.pod_identity and lost:
        yield (
            f"pod_identity: API servers would refuse all tokens of {', '.join(lost)}, the issuer in the"
            " kubeadm.config that the cluster was built with. Write the flag back and remove pod_identity, or build"
            " another cluster with it"
        )


def _issuers(spec: ClusterSpec) -> list[str]:
    """Return the issuers of tokens that the user has set."""
    component = spec.kubeadm.config.get("ClusterConfiguration", {}).get("apiServer")
    return [str(value) for _, name, value in flags(component, ()) if name == "service-account-issuer"]


def fewer_control_planes(built: int, now: int) -> str:
    """Return why a control plane of so many machines cannot have fewer, with the fix; empty if it has none fewer."""
    if now >= built:
        return ""
    return (
        f"control_plane.count: {now} is fewer than the {built} that the cluster has: without the others etcd has no"
        f" quorum, and the API stops. Write {built}, or remove the cluster and build it again"
    )


def refuse(inputs: Any, now: ClusterSpec) -> None:
    """Raise RuntimeError if the spec cannot follow the one in these inputs of the component; None: there are none.

    A growth that failed has recorded machines that were never created; only `mullion up` sees that the state has none.
    """
    if (built := built_spec(inputs)) is None:
        return
    faults = refusals(built, now)
    if fewer := fewer_control_planes(built.control_plane.count, now.control_plane.count):
        faults.append(f"{fewer}. If none of the others was ever created, `mullion up` takes it")
    if faults:
        raise RuntimeError("\n".join(["this spec is refused, and nothing was changed:", *faults]))


def hooks(name: str, now: ClusterSpec) -> ResourceHookBinding:
    """Return the hooks of the component `name`. They run in previews too."""

    async def check(args: ResourceHookArgs) -> None:
        refuse(args.old_inputs, now)

    return ResourceHookBinding(
        before_update=[ResourceHook(f"{name}-spec", check, ResourceHookOptions(on_dry_run=True))]
    )
