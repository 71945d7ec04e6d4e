"""The accounts in which clusters are looked for: real ones, or this clone's sandboxes."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from operations.clouds.api import ApiError
from operations.console.exits import Exit, Stop
from operations.engine import locks
from operations.reaping import things
from operations.reaping.things import Account, Remains
from operations.stacks import target

if TYPE_CHECKING:
    from sandbox.cloud_state import CloudState

CLOUDS = ("aws", "azure", "gcp")


def check(cloud: str) -> None:
    """Raise Stop if --by-tags names no cloud."""
    if cloud not in CLOUDS:
        raise Stop(Exit.USAGE, f"--by-tags {cloud} is unknown; write {' or '.join(CLOUDS)}")


@contextmanager
def opened(cloud: str, regions: Sequence[str], *, sandbox: bool) -> Iterator[list[Account]]:
    """Yield the account of this environment's credentials, or those of this clone's sandboxes."""
    if sandbox:
        with of_sandboxes(cloud, regions) as found:
            yield found
    else:
        try:
            account = real(cloud, regions)
        except ApiError as error:
            raise Stop(Exit.FAILED, f"{cloud} refuses the credentials of this environment: {error}") from error
        try:
            yield [account]
        finally:
            account.close()


def clusters_of(account: Account) -> list[Remains]:
    """Return an account's clusters. Raises Stop if its resources cannot be listed."""
    try:
        return things.clusters(account.inventory())
    except ApiError as error:
        raise Stop(Exit.FAILED, f"the resources of {account.cloud} {account.name} cannot be listed: {error}") from error


def real(cloud: str, regions: Sequence[str]) -> Account:
    """Return the account of this environment's credentials. Raises Stop if there are none, or no regions on AWS."""
    if cloud == "azure":
        from operations.clouds import bearer
        from operations.reaping import azure

        token, subscription = azure.token()
        return azure.Azure(bearer.Requests(token, renewed=lambda: azure.token()[0]), subscription, regions)
    if cloud == "gcp":
        from operations.clouds import bearer
        from operations.reaping import gcp, gcp_deletion

        token, project = gcp_deletion.token()
        return gcp.Gcp(bearer.Requests(token, renewed=lambda: gcp_deletion.token()[0]), project, regions)
    from operations.reaping import aws, aws_requests

    if not regions:
        raise Stop(Exit.USAGE, "name the regions to look in: --regions eu-west-1,eu-central-1")
    if other := [each for each in regions if each.startswith(aws_requests.OTHER_PARTITIONS)]:
        raise Stop(
            Exit.USAGE,
            "reap and ls --by-tags know no hosts of China, GovCloud, the European Sovereign Cloud or isolated regions:"
            f" leave out {', '.join(other)}",
        )
    return aws.Aws(aws_requests.Requests(aws_requests.keys(), renewed=aws_requests.keys), regions)


@contextmanager
def of_sandboxes(cloud: str, regions: Sequence[str]) -> Iterator[list[Account]]:
    """Yield the account of each sandbox of a cloud in which no run is in progress."""
    with ExitStack() as stack:
        found: list[Account] = []
        for folder in sorted((target.root() / "sandbox").glob("*/")):
            database = target.cloud_state_file(folder.name)
            if database.exists() and not locks.of_stack(folder.name, (folder / "state").as_uri()):
                found.extend(stack.enter_context(in_sandbox(cloud, regions, database)))
        yield found


@contextmanager
def in_sandbox(cloud: str, regions: Sequence[str], database: Path) -> Iterator[list[Account]]:
    """Yield the account of one sandbox, whose management API answers meanwhile; none if it is of another cloud.

    Without regions: those that its resources are in.
    """
    from sandbox.services.aws.owner import AwsOwner
    from sandbox.services.azure.owner import AzureOwner
    from sandbox.services.gcp.owner import GcpOwner
    from sandbox.services.server import Services

    front = {"aws": AwsOwner, "azure": AzureOwner, "gcp": GcpOwner}[cloud]
    with Services(database, fronts={"": front}) as services:
        if not _is_of(services.cloud_state, cloud):
            yield []
            return
        there = regions or sorted({each.region.lower() for each in services.cloud_state.resources()})
        account = {"aws": _aws, "azure": _azure, "gcp": _gcp}[cloud](services.listen(), services.cloud_state, there)
        try:
            yield [account]
        finally:
            account.close()


def _aws(url: str, cloud_state: "CloudState", regions: Sequence[str]) -> Account:
    from operations.reaping import aws, aws_requests
    from sandbox.services.aws import owner

    keys = aws_requests.Keys(owner.KEY_ID, owner.secret_key(cloud_state))
    return aws.Aws(aws_requests.Requests(keys, url), regions)


def _azure(url: str, cloud_state: "CloudState", regions: Sequence[str]) -> Account:
    from operations.clouds import bearer
    from operations.reaping import azure
    from sandbox.azure.cloud import AZURE
    from sandbox.services.credentials import owner_token

    return azure.Azure(bearer.Requests(owner_token(cloud_state), url), AZURE.account, regions)


def _gcp(url: str, cloud_state: "CloudState", regions: Sequence[str]) -> Account:
    from operations.clouds import bearer
    from operations.reaping import gcp
    from sandbox.existing_network import is_yours
    from sandbox.services.credentials import owner_token

    # a network of the user may be of another project
    ids = (each.id.split("/") for each in cloud_state.resources() if not is_yours(each.urn))
    project = next((parts[1] for parts in ids if parts[0] == "projects"), "")
    return gcp.Gcp(bearer.Requests(owner_token(cloud_state), url), project, regions)


def _is_of(cloud_state: "CloudState", cloud: str) -> bool:
    oldest = cloud_state.oldest()
    prefix = {"azure": "azure-native"}.get(cloud, cloud)
    return oldest is not None and oldest.type.startswith(f"{prefix}:")
