"""Where the engine runs: in the clone for real clouds, in the stack's own folder for the sandbox.

For real clouds it uses the same program, stack file and backend as `pulumi -s STACK`.
"""

import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml
from pulumi import automation as auto
from pulumi.automation._stack import StackInitMode

from components.rollout.simulation import BOOTED, SESSIONS
from components.stack_files.stack import CLUSTER, TARGET
from operations.clouds import cloud_tables
from operations.console.exits import Exit, Stop
from operations.engine import policy_preview, state, state_key
from operations.engine.locate import Engine
from operations.engine.process import EngineCommand
from operations.recorder.recorder import program
from operations.stacks import stack_files, target
from operations.stacks.paths import REPOSITORY

REMOVED = (
    *("AWS_", "BOTO_"),
    *("ARM_", "AZURE_", "MSI_", "IDENTITY_"),
    *("GOOGLE_", "GCLOUD_", "GCP_", "CLOUDSDK_"),
    "PULUMI_",
)
"""Prefixes of environment variables that are removed in the sandbox, because they could make the engine reach a real
account: cloud credentials and Pulumi's settings (backend, home, access token)."""

_UNSET = re.compile(r"\$\([\w.-]+\)")
"""Matches a variable that Azure Pipelines did not replace."""

QUIET = {
    "PULUMI_SKIP_UPDATE_CHECK": "true",
    "PULUMI_ERROR_OUTPUT_STRING": "true",
}

SPARING = {"GOGC": "400", "GOMEMLIMIT": "400MiB"}
"""The engine in the sandbox collects garbage less often, which saves a sixth of a run's CPU time, until it has this
much memory. Real providers are programs in Go too, and need the memory."""


def backend() -> str:
    """Return the URL of the backend that the engine uses in this environment; empty without a login."""
    return os.environ.get("PULUMI_BACKEND_URL") or _logged_in()


def _logged_in() -> str:
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    try:
        return str(json.loads((home / "credentials.json").read_text("utf-8")).get("current") or "")
    except (OSError, ValueError, AttributeError):
        return ""


def prepare(folder: Path) -> dict[str, str]:
    """Create a sandbox's missing parts: state, home, passphrase. Return the engine's environment variables."""
    from sandbox import home

    for part in (folder, folder / "state"):
        part.mkdir(mode=0o700, parents=True, exist_ok=True)
    home.install(folder / "home")
    if not (folder / "passphrase").exists():
        target.write(folder / "passphrase", secrets.token_urlsafe(32))
    return sandbox_environment(folder)


def sandbox_environment(folder: Path) -> dict[str, str]:
    """Return the environment variables that the engine and its providers get in the sandbox."""
    nothing = str(folder / "nothing")
    return {
        **QUIET,
        "PULUMI_HOME": str(folder / "home"),
        "PULUMI_BACKEND_URL": (folder / "state").as_uri(),
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(folder / "passphrase"),
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "MULLION_SANDBOX_WORLD": str(folder / "world.db"),
        # block credentials that SDKs find without a variable: files in the home folder, the metadata service
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AZURE_CONFIG_DIR": nothing,
        "CLOUDSDK_CONFIG": nothing,
        "GOOGLE_APPLICATION_CREDENTIALS": nothing,
        **SPARING,
    }


@contextmanager
def environment(removed: tuple[str, ...], added: Mapping[str, str]) -> Iterator[None]:
    """Change this process's environment while this context is open: the Automation API passes it to the engine."""
    before = dict(os.environ)
    for name in [each for each in os.environ if each.startswith(removed)] if removed else []:
        del os.environ[name]
    os.environ.update(added)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def opened(name: str, engine: Engine, *, sandbox: bool) -> Iterator[auto.LocalWorkspace]:
    """Yield the workspace of a stack; while it is open, this process's environment is the engine's."""
    folder = _lay_out(name) if sandbox else REPOSITORY
    removed, added = (REMOVED, sandbox_environment(target.sandbox_folder(name))) if sandbox else ((), QUIET)
    with environment(removed, {**added, **policy_preview.environment()}):
        yield auto.LocalWorkspace(work_dir=str(folder), program=program, pulumi_command=EngineCommand(engine))


def real_backend() -> str:
    """Return the URL of the backend for real accounts; empty if none is set."""
    project = yaml.safe_load((REPOSITORY / "Pulumi.yaml").read_text("utf-8"))
    named = project.get("backend") if isinstance(project, dict) else None
    of_project = str(named.get("url") or "") if isinstance(named, dict) else ""
    return os.environ.get("PULUMI_BACKEND_URL") or of_project or backend()


def has_backend() -> bool:
    """Return whether this environment has a backend for real accounts."""
    return bool(real_backend() or os.environ.get("PULUMI_ACCESS_TOKEN"))


def _no_passphrase() -> str:
    """Return why this environment has no passphrase that protects anything; empty if it has one.

    The engine accepts an empty one. Azure Pipelines leaves `$(NAME)` as it is if there is no variable NAME.
    """
    variable, file = "PULUMI_CONFIG_PASSPHRASE", os.environ.get("PULUMI_CONFIG_PASSPHRASE_FILE")
    text = os.environ.get(variable)
    if text is None and file is None:
        return "set PULUMI_CONFIG_PASSPHRASE_FILE"
    if text is None and file is not None:
        variable = file
        try:
            text = Path(file).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            return f"{file} cannot be read: {error}"
    text = (text or "").strip()
    if not text or _UNSET.fullmatch(text):
        what = f"the text {text}, because the pipeline has no such variable" if text else "empty"
        return (
            f"{variable} is {what}; everybody could read the state's secrets. Set a secret; for a state that has this"
            " passphrase: pulumi stack change-secrets-provider passphrase"
        )
    return ""


def refuse_unusable(name: str) -> None:
    """Raise Stop with everything that this environment lacks for a run in a real account."""
    lacks, place = list[str](), real_backend()
    if not has_backend():
        lacks.append("a backend for the state: pulumi login")
    secrets_by = stack_files.secrets_provider(name)
    if secrets_by == "passphrase" or (not secrets_by and place and not place.startswith(("http://", "https://"))):
        lacks += [f"the passphrase of its secrets: {why}"] if (why := _no_passphrase()) else []
    if lacks:
        listed = "".join(f"\n  {each}" for each in lacks)
        raise Stop(
            Exit.USAGE, f"stack {name} cannot be built in a real account yet; nothing was started. Missing:{listed}"
        )


class Run(auto.Stack):
    """A stack whose `up` starts the engine less often: each start takes at least a fifth of a second.

    The Automation API's `up` reads the outputs twice, without and with secrets, and the history. Here one export of
    the state gives the outputs, and callers use the same export.
    """

    exported: auto.Deployment | None = None
    """The state after the last `up`, secrets decrypted."""

    def outputs(self) -> auto.OutputMap:
        """Export the state, and return the outputs in it."""
        self.exported = self.export_stack()
        return state.outputs(self.exported)

    def info(self, show_secrets: bool = True) -> auto.UpdateSummary:
        """Return an empty summary, because no caller reads the history."""
        return auto.UpdateSummary("", datetime.now(timezone.utc), "", {}, {}, "")


def existing(name: str, workspace: auto.LocalWorkspace) -> Run | None:
    """Return the engine's stack, or None if it does not exist yet.

    Raises Stop if the stack file names a key for the state that the state does not have. The engine selects and exports
    a stack without that key; later it asks the key's server. The sandbox's copy of the file has no key.
    """
    try:
        run = Run(name, workspace, StackInitMode.SELECT)
    except auto.StackNotFoundError:
        return None
    if Path(workspace.work_dir) == REPOSITORY and state_key.is_named(name):
        state_key.refuse_other(name, export(run)["deployment"])
    return run


def export(run: auto.Stack) -> dict[str, Any]:
    """Return a stack's exported state with encrypted secrets (the Automation API's export decrypts them)."""
    words = ["stack", "export", "--stack", run.name]
    return json.loads(run.workspace.pulumi_command.run(words, run.workspace.work_dir, {}).stdout)


def _lay_out(name: str) -> Path:
    """Create or update a stack's sandbox. Return the engine's working folder, with copies of project and stack file."""
    folder = target.sandbox_folder(name)
    prepare(folder)
    for part in ("work", "work/stacks"):
        (folder / part).mkdir(mode=0o700, exist_ok=True)
    project, copy = folder / "work" / "Pulumi.yaml", folder / "work" / "stacks" / f"Pulumi.{name}.yaml"
    target.write(project, (REPOSITORY / "Pulumi.yaml").read_text("utf-8"))
    salt = _salt(copy)
    target.write(copy, yaml.safe_dump({"config": sandbox_config(name), **salt}, sort_keys=False))
    return folder / "work"


def sandbox_config(name: str) -> dict[str, Any]:
    """Return the configuration in the sandbox: only spec and region, because other settings may contain credentials."""
    from operations.stacks import boot_site

    config = stack_files.config(name)
    kept = (CLUSTER, *cloud_tables.KEYS)
    here = {
        TARGET: target.SANDBOX,
        BOOTED: boot_site.api(name),
        SESSIONS: json.dumps(sessions) if (sessions := boot_site.sessions(name)) else "",
        **_subscription(config),
    }
    return {key: config[key] for key in kept if key in config} | {key: each for key, each in here.items() if each}


def _subscription(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the setting for the subscription of an existing network on Azure, because machines must be in it too."""
    cluster: Mapping[str, Any] = config.get(CLUSTER) or {}
    existing = (cluster.get("network") or {}).get("existing") or {}
    parts = str(existing.get("network") or "").split("/")
    return {"azure-native:subscriptionId": parts[2]} if parts[1:2] == ["subscriptions"] and len(parts) > 2 else {}


def _salt(copy: Path) -> dict[str, str]:
    """Return the `encryptionsalt` that the engine wrote into the copy, because the state's secrets need it."""
    if not copy.exists():
        return {}
    salt = (yaml.safe_load(copy.read_text("utf-8")) or {}).get("encryptionsalt")
    return {"encryptionsalt": salt} if salt else {}
