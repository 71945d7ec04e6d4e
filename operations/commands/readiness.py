"""What building in a real account needs on this machine: credentials and the provider's plug-in."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from components.clouds import CLOUDS


@dataclass(frozen=True)
class Credentials:
    """Where a cloud's provider finds credentials on a machine outside that cloud."""

    variables: tuple[str, ...]
    """Environment variables; one suffices."""
    files: tuple[tuple[str, str, str], ...]
    """Files; one suffices. Variable that names the folder or file, the default for it, file below it."""
    remedy: str
    """How to get credentials."""


CREDENTIALS = {
    # https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
    "aws": Credentials(
        (
            *("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"),
            *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        ),
        (("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials", ""), ("AWS_CONFIG_FILE", "~/.aws/config", "")),
        "run `aws configure sso`, or set AWS_PROFILE",
    ),
    # https://www.pulumi.com/registry/packages/azure-native/installation-configuration/
    "azure": Credentials(
        ("ARM_CLIENT_ID", "ARM_USE_MSI", "ARM_USE_OIDC", "AZURE_CLIENT_ID"),
        (("AZURE_CONFIG_DIR", "~/.azure", "azureProfile.json"),),
        "run `az login`, or set ARM_CLIENT_ID and its companions",
    ),
    # https://www.pulumi.com/registry/packages/gcp/installation-configuration/
    "gcp": Credentials(
        ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CREDENTIALS", "GOOGLE_OAUTH_ACCESS_TOKEN"),
        (("CLOUDSDK_CONFIG", "~/.config/gcloud", "application_default_credentials.json"),),
        "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS",
    ),
}
"""By cloud."""


def lacks(cloud: str) -> Iterator[str]:
    """Yield a line for each thing that this machine lacks: credentials, the provider's plug-in. Works offline."""
    title, source = CLOUDS[cloud].title, CREDENTIALS[cloud]
    set_here = any(os.environ.get(name) for name in source.variables)
    if not set_here and not any(_file(*place).is_file() for place in source.files):
        yield (
            f"no credentials for {title} on this machine: {source.remedy}. "
            f"Without them only a machine in {title} with a role of its own can continue"
        )
    provider, version, installed = plugin(cloud)
    if not installed:
        yield f"the plug-in of the provider {provider} {version} is not installed: the engine downloads it first"


def plugin(cloud: str) -> tuple[str, str, bool]:
    """Return name and version of a cloud's provider, and whether its plug-in is installed for real accounts."""
    from sandbox.home import CLOUDS as PROVIDERS
    from sandbox.home import provider_version

    provider = PROVIDERS[cloud]
    version = provider_version(provider.sdk)
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    return provider.provider, version, (home / "plugins" / f"resource-{provider.provider}-v{version}").is_dir()


def _file(variable: str, default: str, below: str) -> Path:
    return Path(os.environ.get(variable) or default).expanduser() / below
