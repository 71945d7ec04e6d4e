"""MixedCluster, the component of users. The only module that chooses a cloud."""

from collections.abc import Callable
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions

from components.clouds import CLOUDS
from components.cluster_args import ClusterArgs
from components.plan import ClusterPlan, plan_cluster
from components.rollout import simulation, spec_gate
from components.rollout.authority_gate import AuthorityGate, followers
from components.rollout.pod_routes import PodRouteHooks
from components.rollout.upgrade import Upgrade
from components.sdk.registration import add_pending_rpc
from components.spec.models import Cloud
from components.spec.report import Problem
from components.stack_files.stack import CLUSTER, read_stack, refuse_unready
from components.wiring.context import ClusterContext
from components.wiring.joined_cluster import JoinedCluster
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
    """The administrator's kubeconfig. Secret; its certificate lives 30 days. Empty for an existing cluster."""
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
    issuer: pulumi.Output[str]
    """URL of the issuer of service-account tokens, which `pod_identity` makes public on AWS and Azure; else empty."""
    pod_roles: pulumi.Output[dict[str, str]]
    """Role of each service account of `pod_identity`, by namespace/name: ARN on AWS, client id of its identity on
    Azure, member for policies on GCP."""
    pod_principals: pulumi.Output[dict[str, str]] | None
    """Principal ids of the identities of `pod_identity` on Azure, which get roles, by namespace/name."""
    pod_tenant: pulumi.Output[str] | None
    """Id of the tenant of these identities."""
    pod_provider: pulumi.Output[str] | None
    """Name of the workload identity provider of `pod_identity` on GCP."""
    gmsa_identity: pulumi.Output[str] | None
    """Principal id of the identity of Windows workers on Azure by which the plug-in of `gmsa` reads its secret."""

    def __init__(self, name: str, args: ClusterArgs, opts: ResourceOptions | None = None) -> None:
        stack = read_stack(name, {CLUSTER: args, **_regions()}, region_needed=False)
        gated = ResourceOptions.merge(opts, ResourceOptions(hooks=spec_gate.hooks(name, stack.spec)))
        super().__init__("mullion:index:MixedCluster", name, dict(args), gated)
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
                "issuer": self.issuer,
                "pod_roles": self.pod_roles,
                **({"pod_provider": self.pod_provider} if self.pod_provider else {}),
                **({"pod_principals": self.pod_principals} if self.pod_principals else {}),
                **({"pod_tenant": self.pod_tenant} if self.pod_tenant else {}),
                **({"gmsa_identity": self.gmsa_identity} if self.gmsa_identity else {}),
            }
        )
        add_pending_rpc()

    def _build(self, plan: ClusterPlan, tags: Tags) -> None:
        """Register the cluster's resources and set the outputs."""
        target = pulumi.Config("mullion").get("world") or "cloud"
        simulated = simulation.is_simulated(target)
        options, routes = ResourceOptions(parent=self), PodRouteHooks(plan.name)
        begins = Output.from_input(False)
        if cluster := plan.spec.existing_cluster:
            secrets = JoinedCluster(plan, cluster, simulated=simulated, opts=options)
        else:
            secrets = self._generated(plan, options, simulated=simulated)
            begins = secrets.begins
        upgrade = Upgrade(plan, begins, simulated=simulated)
        context = ClusterContext(plan, secrets, tags, upgrade, target, routes)
        try:
            outputs = _builder(plan.spec.cloud)(context, self)
        except BaseException:
            secrets.abandon()
            raise
        self.kubeconfig, self.ca_certificate = Output.from_input(""), secrets.ca_certificate
        if isinstance(secrets, Generated):
            for_people = outputs.public_host.apply(plan.endpoint.for_people)
            self.kubeconfig = secrets.kubeconfig(for_people, plan.endpoint.host)
        self.endpoint = Output.from_input(plan.endpoint.url)
        self.public_endpoint = outputs.public_host.apply(
            lambda host: f"https://{host}:{plan.endpoint.port}" if host else ""
        )
        self.bundle_store, self.snapshot_store = outputs.bundle_store, outputs.snapshot_store
        self.machines = Output.from_input({machine.name: str(machine.address) for machine in plan.machines})
        hosts: dict[str, Any] = dict(outputs.load_balancers)
        self.load_balancers, self.gmsa_identity = Output.from_input(hosts), outputs.gmsa_identity
        self.issuer = outputs.issuer or Output.from_input("")
        roles: dict[str, Any] = dict(outputs.pod_roles)
        self.pod_roles, self.pod_provider = Output.from_input(roles), outputs.pod_provider
        principals: dict[str, Any] = dict(outputs.pod_principals)
        self.pod_tenant = outputs.pod_tenant
        self.pod_principals = Output.from_input(principals) if self.pod_tenant else None

    def _generated(self, plan: ClusterPlan, options: ResourceOptions, *, simulated: bool) -> Generated:
        """Register the secrets of a cluster that Mullion makes."""
        rotation = plan.spec.rotation
        gate = AuthorityGate(plan.name, rotation.certificate_authorities, followers(plan), simulated=simulated)
        ahead = plan.spec.pod_identity is not None
        return Generated(plan.name, cluster=plan.name, rotation=rotation, gate=gate, ahead=ahead, opts=options)


def _builder(cloud: Cloud) -> Callable[[ClusterContext, pulumi.Resource], CloudOutputs]:
    """Return the cloud's `build`. Imports only its SDK: each takes seconds to import."""
    match cloud:
        case Cloud.AWS:
            from components.aws.cluster import build
        case Cloud.AZURE:
            from components.azure.cluster import build
        case Cloud.GCP:
            from components.gcp.cluster import build
    return build


def _regions() -> dict[str, str]:
    """Return the providers' configured regions, by configuration key; empty if only an explicit provider has one."""
    keys = [facts.region_key for facts in CLOUDS.values()]
    regions = {key: pulumi.Config(key.split(":")[0]).get(key.split(":")[1]) for key in keys}
    return {key: region for key, region in regions.items() if region}


def _warn(warning: Problem, resource: pulumi.Resource) -> None:
    if warning.acknowledged is None:
        pulumi.warn(str(warning), resource)
