"""PULUMI_HOME of the sandbox, which holds the sandbox's plugins alone."""

import importlib.util
import json
import shlex
import sys
from pathlib import Path

from sandbox.clouds import CLOUDS


def install(home: Path) -> Path:
    """Write `home/plugins/resource-NAME-vVERSION/pulumi-resource-NAME` for each installed SDK; return `home`.

    The executable names the interpreter that runs now: call install again after the environment moved.
    """
    for cloud, (name, sdk, _) in CLOUDS.items():
        if importlib.util.find_spec(sdk) is None:
            continue  # SDKs are optional; a program without one needs no plugin
        version = provider_version(sdk)
        folder = home / "plugins" / f"resource-{name}-v{version}"
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / f"pulumi-resource-{name}"
        root = Path(__file__).resolve().parents[1]
        text = (
            "#!/bin/sh\n"
            f"PYTHONPATH={shlex.quote(str(root))}${{PYTHONPATH:+:$PYTHONPATH}} MULLION_SANDBOX_VERSION={version}"
            f' exec {shlex.quote(sys.executable)} -m sandbox.plugin {cloud} "$@"\n'
        )
        if not program.exists() or program.read_text(encoding="utf-8") != text:
            program.write_text(text, encoding="utf-8")
            program.chmod(0o755)
    return home


def provider_version(package: str) -> str:
    """Return the provider's version from an SDK's pulumi-plugin.json, without importing the SDK."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"the Pulumi SDK {package} is not installed", name=package)
    text = Path(spec.submodule_search_locations[0], "pulumi-plugin.json").read_text(encoding="utf-8")
    return str(json.loads(text)["version"])
