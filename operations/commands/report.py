"""Texts at the end of `up` and `down`."""

from pathlib import Path
from typing import Any

from components.plan import ClusterPlan
from operations.clouds import cloud_tables
from operations.commands import forecast
from operations.console.table import table
from operations.engine.state import State, instances, kept, waits
from operations.recovery.state_check import in_sandbox
from operations.stacks import target


def machines(planned: ClusterPlan, state: State) -> str:
    """Return the table of machines with their addresses, zones and instances."""
    made = instances(state)
    rows = [
        (
            machine.name,
            group.name,
            group.os.value,
            str(machine.address),
            made.get(machine.name, {}).get("zone", ""),
            made.get(machine.name, {}).get("id", ""),
        )
        for group in planned.machine_groups
        for machine in group.machines
    ]
    return table(("name", "pool", "os", "address", "zone", "instance"), rows)


def kubeconfig(name: str, text: str) -> Path:
    """Write the administrator's kubeconfig (mode 0600), and return its path."""
    path = target.folder(name) / "kubeconfig"
    target.write(path, text)
    return path


def sign_in_kubeconfig(name: str, text: str) -> Path:
    """Write the kubeconfig for users who sign in through OpenID Connect (mode 0600), and return its path."""
    path = target.folder(name) / "kubeconfig-oidc"
    target.write(path, text)
    return path


def access(outputs: dict[str, Any], path: Path | str, not_booted: str = "") -> str:
    """Return lines with the endpoint, load balancers, roles of pods and the kubeconfig's path.

    not_booted: why the endpoint does not answer, or "".
    """
    public = outputs.get("public_endpoint")
    lines = [
        f"Endpoint    {outputs.get('endpoint')}",
        *([f"            {public} for users"] if public else []),
        *(f"Balancer    {host} ({name})" for name, host in (outputs.get("load_balancers") or {}).items()),
        *([f"Issuer      {issuer}"] if (issuer := outputs.get("issuer")) else []),
        *(f"Pods' role  {arn} ({account})" for account, arn in (outputs.get("pod_roles") or {}).items()),
        *([f"Tenant      {tenant} (of these client ids)"] if (tenant := outputs.get("pod_tenant")) else []),
        f"Kubeconfig  {path}",
        *([f"Nothing answers at this endpoint: {not_booted}"] if not_booted else []),
    ]
    return "\n".join(lines)


def timeline(planned: ClusterPlan, state: State) -> str:
    """Return the predicted times of a first build, and the critical path until all resources are created."""
    rows = list(waits(state))
    times, path = forecast.first_build(planned, rows)
    types = {urn: type_ for urn, _, type_ in rows}
    head = f"{times.sentence(planned.spec.cloud.value)}\nWhat decides when resources are created:"
    return f"{head}\n{forecast.deciding(path, types)}"


def remains(name: str, state: State, *, sandbox: bool) -> str:
    """Return lines about what `down` left behind: kept buckets, and in the sandbox every resource.

    state: the state before `down`.
    """
    by_hand = cloud_tables.of(state).removal
    removal = f"rm -r {target.sandbox_folder(name)} (the whole sandbox)" if sandbox else by_hand
    lines = [
        f"Kept: bucket {bucket}, which holds the snapshots of etcd. To remove it: "
        + removal.format(bucket, *bucket.split("/"))
        for bucket in kept(state)
    ]
    if not sandbox:
        return "\n".join(lines)
    left = in_sandbox(target.cloud_state_file(name))
    lines.append(f"Left in the sandbox:{'' if left else ' nothing'}")
    return "\n".join([*lines, table(("type", "id"), left)]) if left else "\n".join(lines)
