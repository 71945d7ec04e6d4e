"""MixedCluster, the component of users. The only module that chooses a cloud."""

from collections.abc import Callable
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions

from components.clouds import CLOUDS
from components.cluster_args import ClusterArgs
from components.plan import ClusterPlan, plan_cluster
from components.rollout import simulation
from components.rollout.authority_gate import AuthorityGate, followers
from components.rollout.pod_routes import PodRouteHooks
from components.rollout.upgrade import Upgrade
from components.sdk.registration import add_pending_rpc
from components.spec.models import Cloud
from components.spec.report import Problem
from components.stack_files.stack import CLUSTER, read_stack, refuse_unready
from components.wiring.context import ClusterContext
from components.wiring.kept_secrets import Generated
from components.wiring.result import CloudOutputs
from components.wiring.tags import Tags, component_urn


class MixedCluster(pulumi.ComponentResource):
    """A Kubernetes cluster with a Linux control plane and Windows and Linux workers."""

    endpoint: pulumi.Output[str]
    """URL of the Kubernetes API for nodes."""
    public_endpoint: pulumi.Output[str]
    """URL of the Kubernetes API for people, or empty where the API is private."""
    kubeconfig: pulumi.Output[str]
    """The administrator's kubeconfig. Secret; its certificate lives 30 days."""
    ca_certificate: pulumi.Output[str]
    """The cluster CA's certificate, PEM."""
    bundle_store: pulumi.Output[str]
    """URL of the store that machines fetch their bundles from."""
    snapshot_store: pulumi.Output[str]
    """URL of the store of etcd snapshots."""
    machines: pulumi.Output[dict[str, str]]
    """Address of every machine, by name."""
    load_balancers: pulumi.Output[dict[str, str]]
    """DNS name or address of every load balancer of `ingress`, by name."""

    def __init__(self, name: str, args: ClusterArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("mullion:index:MixedCluster", name, dict(args), opts)
        stack = read_stack(name, {CLUSTER: args, **_regions()}, region_needed=False)
        for warning in stack.warnings:
            _warn(warning, self)
        if not pulumi.runtime.is_dry_run():
            refuse_unready(stack)
        tags = Tags.of(name, stack.spec, component_urn(self, opts))
        self._build(plan_cluster(name, stack.spec), tags)
        self.register_outputs(
            {
                "endpoint": self.endpoint,
                "public_endpoint": self.public_endpoint,
                "kubeconfig": self.kubeconfig,
                "ca_certificate": self.ca_certificate,
                "bundle_store": self.bundle_store,
                "snapshot_store": self.snapshot_store,
                "machines": self.machines,
                "load_balancers": self.load_balancers,
            }
        )
        add_pending_rpc()

    def _build(self, plan: ClusterPlan, tags: Tags) -> None:
        """Register the cluster's resources and set the outputs."""
        target = pulumi.Config("mullion").get("world") or "cloud"
        simulated = simulation.is_simulated(target)
        rotation = plan.spec.rotation
        gate = AuthorityGate(plan.name, rotation.certificate_authorities, followers(plan), simulated=simulated)
        options = ResourceOptions(parent=self)
        generated = Generated(plan.name, cluster=plan.name, rotation=rotation, gate=gate, opts=options)
        upgrade = Upgrade(plan, generated.begins, simulated=simulated)
        context = ClusterContext(plan, generated, tags, upgrade, target, PodRouteHooks(plan.name))
        try:
            outputs = _builder(plan.spec.cloud)(context, self)
        except BaseException:
            gate.abandon()
            raise
        self.endpoint = Output.from_input(plan.endpoint.url)
        self.public_endpoint = outputs.public_host.apply(
            lambda host: f"https://{host}:{plan.endpoint.port}" if host else ""
        )
        for_people = outputs.public_host.apply(plan.endpoint.for_people)
        self.kubeconfig = generated.kubeconfig(for_people, plan.endpoint.host)
        self.ca_certificate = generated.ca_certificate
        self.bundle_store, self.snapshot_store = outputs.bundle_store, outputs.snapshot_store
        self.machines = Output.from_input({machine.name: str(machine.address) for machine in plan.machines})
        hosts: dict[str, Any] = dict(outputs.load_balancers)
        self.load_balancers = Output.from_input(hosts)


def _builder(cloud: Cloud) -> Callable[[ClusterContext, pulumi.Resource], CloudOutputs]:
    """Return the cloud's `build`. Imports only its SDK: each takes seconds to import."""
    match cloud:
        case Cloud.AWS:
            from components.aws import build
        case Cloud.AZURE:
            from components.azure import build
        case Cloud.GCP:
            from components.gcp import build
    return build


def _regions() -> dict[str, str]:
    """Return the providers' configured regions, by configuration key; empty if only an explicit provider has one."""
    keys = [facts.region_key for facts in CLOUDS.values()]
    regions = {key: pulumi.Config(key.split(":")[0]).get(key.split(":")[1]) for key in keys}
    return {key: region for key, region in regions.items() if region}


def _warn(warning: Problem, resource: pulumi.Resource) -> None:
    if warning.acknowledged is None:
        pulumi.warn(str(warning), resource)
