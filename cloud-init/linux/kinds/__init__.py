"""The kinds of step that Linux implements: for each, whether it holds and how to make it true.

Both take the run and the step with its references resolved. `make` may assume that `holds` said no.
"""

from collections.abc import Callable
from typing import NamedTuple

from run import Run, Step

from kinds import cluster, files, network, services, system


class Kind(NamedTuple):
    """Test, then set."""

    holds: Callable[[Run, Step], bool]
    make: Callable[[Run, Step], None]


KINDS = {
    "directory": Kind(files.directory_holds, files.make_directory),
    "file": Kind(files.file_holds, files.make_file),
    "artifact": Kind(files.artifact_holds, files.make_artifact),
    "archive": Kind(files.archive_holds, files.make_archive),
    "secret": Kind(files.secret_holds, files.make_secret),
    "encryption-configuration": Kind(cluster.encryption_holds, cluster.make_encryption),
    "certificate-authority": Kind(cluster.authority_holds, cluster.make_authority),
    "bootstrap-token": Kind(cluster.token_holds, cluster.make_token),
    "claim": Kind(cluster.claim_holds, cluster.make_claim),
    "environment": Kind(system.environment_holds, system.make_environment),
    "hostname": Kind(system.hostname_holds, system.make_hostname),
    "module": Kind(system.module_holds, system.make_module),
    "sysctl": Kind(system.sysctl_holds, system.make_sysctl),
    "swap": Kind(system.swap_holds, system.make_swap),
    "reboot": Kind(system.reboot_holds, system.make_reboot),
    "service": Kind(services.service_holds, services.make_service),
    "command": Kind(services.command_holds, services.make_command),
    "wait": Kind(network.wait_holds, network.make_wait),
    "firewall-rule": Kind(network.rule_holds, network.make_rule),
}
