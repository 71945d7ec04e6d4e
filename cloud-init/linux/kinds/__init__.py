"""Step kinds of the Linux executor: for each, a function that tests the step and one that applies it.

Both take the run and the step with its references resolved. `make` is called only after `holds` returned False.
components/node/kinds defines the same kinds and fields; a test compares them.
"""

from collections.abc import Callable
from typing import NamedTuple

from failure import Failure
from run import Run, Step

from kinds import (
    addons,
    archives,
    artifacts,
    authorizers,
    certificates,
    cluster,
    commands,
    disks,
    endpoint,
    files,
    founding,
    joining,
    keys,
    kubeadm,
    network,
    restart,
    restoring,
    services,
    system,
    tasks,
)

FIELDS: dict[type, str] = {
    list: "again argv authorities certificates clears command depends ends fallbacks files groups kubeconfigs"
    " members peers ports renew resources restarts_on sources",
    dict: "condition environment labels limits schedule",
    int: "lifetime_hours restart_seconds retries size strip timeout_seconds",
    bool: "delegate executable",
    object: "content input older_input",
}
TYPES = {name: kind for kind, names in FIELDS.items() for name in names.split()}
"""Type of a field by name, the same in every kind but for its `documents`; fields that are not listed are strings."""
STEERING = ("kind", "name", "retries", "timeout_seconds")


class Kind(NamedTuple):
    """Functions that test and apply a step, its fields, and the seconds of one attempt without timeout_seconds."""

    holds: Callable[[Run, Step], bool]
    make: Callable[[Run, Step], None]
    required: str = ""
    optional: str = ""
    seconds: int = 120
    documents: str = ""
    """Fields that may have any type here, also if they are strings elsewhere."""

    @property
    def types(self) -> dict[str, type]:
        """Return the type of a field by name; fields that are missing are strings."""
        return TYPES | dict.fromkeys(self.documents.split(), object)

    def check(self, step: Step) -> None:
        """Raise Failure step-invalid if a required field is missing, or a field is unknown or of another type."""
        required, optional = self.required.split(), self.optional.split()
        missing = [each for each in required if each not in step]
        unknown = [each for each in step if each not in (*required, *optional, *STEERING)]
        wrong = [name for name, value in step.items() if not typed(value, self.types.get(name, str))]
        for text, names in (("it lacks", missing), ("there is no", unknown), ("of another type:", wrong)):
            if names:
                raise Failure("step-invalid", f"kind {step['kind']}: {text} {', '.join(names)}")


def typed(value: object, kind: type) -> bool:
    """Return whether the value has the type. A bool is not an int; lists hold strings, except [host, port]."""
    if isinstance(value, list) and kind is list:
        return all(isinstance(each, str) for each in value)
    return isinstance(value, kind) and (kind is not int or not isinstance(value, bool))


KINDS = {
    "directory": Kind(files.directory_holds, files.make_directory, "path", "access"),
    "file": Kind(files.file_holds, files.make_file, "path content", "format access executable"),
    "artifact": Kind(
        artifacts.artifact_holds,
        artifacts.make_artifact,
        "url digest path",
        "executable size fallbacks",
        artifacts.SECONDS,
    ),
    "archive": Kind(archives.archive_holds, archives.make_archive, "source target", "strip members", 600),
    "link": Kind(files.link_holds, files.make_link, "path target"),
    "access": Kind(files.access_holds, files.make_access, "path access", "owner"),
    "environment": Kind(system.environment_holds, system.make_environment, "variable value"),
    "secret": Kind(files.secret_holds, files.make_secret, "secret path", "member"),
    "encryption-configuration": Kind(keys.encryption_holds, keys.make_encryption, "secret member path resources"),
    "authorization-configuration": Kind(
        authorizers.configuration_holds, authorizers.make_configuration, "path webhook"
    ),
    "service-account-keys": Kind(keys.signers_hold, keys.make_signers, "secret member private public"),
    "certificate-authority": Kind(cluster.authority_holds, cluster.make_authority, "url hash path"),
    "kubeadm-certificates": Kind(
        certificates.certificates_hold,
        certificates.make_certificates,
        "requires authorities certificates kubeconfigs kubelet renew pods",
        "served chain",
        300,
        documents="pods",
    ),
    "bootstrap-token": Kind(cluster.token_holds, cluster.make_token, "secret kubeconfig lifetime_hours", "requires"),
    "claim": Kind(founding.claim_holds, founding.make_claim, "store log cluster founder member"),
    "founded": Kind(founding.founded_holds, founding.make_founded, "store log cluster founder path"),
    "etcd-restored": Kind(
        restoring.restored_holds,
        restoring.make_restored,
        "store log cluster requires done config argv data node address",
        "copies etcd_image",
        900,
    ),
    "own-disk": Kind(disks.disk_holds, disks.make_disk, "disk path service joined"),
    "restored-node": Kind(
        restoring.node_holds, restoring.make_node, "requires kubeconfig node provider_id label argv", "", 300
    ),
    "kubeadm": Kind(
        kubeadm.kubeadm_holds,
        kubeadm.make_kubeadm,
        "argv done",
        "input older_input url ca version requires clears again ends data snapshot",
        900,
    ),
    "kubelet-bootstrap": Kind(
        joining.bootstrap_holds,
        joining.make_bootstrap,
        "path kubeconfig secret certificate node",
        "requires",
        documents="kubeconfig",
    ),
    "node-object": Kind(
        joining.node_holds, joining.make_node, "node kubeconfig kubectl state", "provider_id kubelet labels", 600
    ),
    "endpoint": Kind(endpoint.endpoint_holds, endpoint.make_endpoint, "host address peers founder joined ca", "", 300),
    "api-version": Kind(endpoint.version_holds, endpoint.make_version, "url ca version", "", 1800),
    "addons": Kind(addons.addons_hold, addons.make_addons, "files kubeconfig", "", 300),
    "service": Kind(
        services.service_holds,
        services.make_service,
        "service command",
        "depends environment limits log restart_seconds restarts_on start description delegate",
    ),
    "task": Kind(tasks.task_holds, tasks.make_task, "task command schedule", "description"),
    "command": Kind(commands.command_holds, commands.make_command, "argv", "creates requires environment input", 600),
    "probe": Kind(commands.probe_holds, commands.make_probe, "argv message", "expect records"),
    "wait": Kind(commands.wait_holds, commands.make_wait, "condition", "error", seconds=300),
    "package": Kind(system.package_holds, system.make_package, "package version source", seconds=600),
    "user": Kind(system.user_holds, system.make_user, "user", "home groups"),
    "hostname": Kind(system.hostname_holds, system.make_hostname, "value"),
    "reboot": Kind(restart.reboot_holds, restart.make_reboot),
    "firewall-rule": Kind(network.rule_holds, network.make_rule, "rule protocol ports", "sources"),
    "module": Kind(system.module_holds, system.make_module, "module"),
    "sysctl": Kind(system.sysctl_holds, system.make_sysctl, "key value"),
    "swap": Kind(system.swap_holds, system.make_swap),
    "time-source": Kind(system.time_source_holds, system.make_time_source, "server"),
}
