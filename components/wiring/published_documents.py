"""The signed documents of the bundle store, as each run of the program writes them (rollout/signed_documents.py)."""

import time

import pulumi
from pulumi import Output

from components.plan import ClusterPlan
from components.rollout.signed_documents import members, members_document, pointer_document
from components.rollout.upgrade import Upgrade
from components.wiring.kept_secrets import Generated, stash


def pointer(
    plan: ClusterPlan, generated: Generated, upgrade: Upgrade, bundle_url: Output[str], parent: pulumi.Resource
) -> Output[str]:
    """Where the control plane finds what it shall be. Its serial: when bundle or version last changed.

    It changes after the pools' version is settled, for which the control plane's is looked at.
    """
    bundle, version = plan.control_plane.bundle, plan.spec.kubernetes
    serial = stash(f"{plan.name}-serial", int(time.time()), parent=parent, trigger=[bundle.sha256, version])
    known = Output.all(generated.desired_state_key, bundle_url, bundle.sha256, version, serial, upgrade.version)
    # the MAC does not reveal its key
    return Output.unsecret(known.apply(lambda each: pointer_document(*each)))


def member_list(plan: ClusterPlan, generated: Generated, parent: pulumi.Resource) -> Output[str]:
    """Who may be a node, and as what. Its serial is the second in which it last changed."""
    listed = members(plan)
    serial = stash(f"{plan.name}-members-serial", int(time.time()), parent=parent, trigger=listed)
    known = Output.all(generated.desired_state_key, serial)
    return Output.unsecret(known.apply(lambda each: members_document(each[0], listed, each[1])))
