"""A PULUMI_HOME of the sandbox's own: the only plugins the engine finds there are the sandbox's."""

import importlib.util
import json
import shlex
import sys
from pathlib import Path

from sandbox.clouds import CLOUDS


def install(home: Path) -> Path:
    """Lay out `home/plugins/resource-NAME-vVERSION/pulumi-resource-NAME` and give `home` back.

    For each cloud whose SDK is installed.

    The executable runs this package with the interpreter that runs now, so a moved environment calls install again.
    """
    for cloud, (name, sdk, _) in CLOUDS.items():
        if importlib.util.find_spec(sdk) is None:
            continue  # SDKs are as chosen at installation; a program without one asks for no plugin
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
    """The version of the provider that an SDK is made for, from its pulumi-plugin.json; the SDK is not imported."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"the Pulumi SDK {package} is not installed", name=package)
    text = Path(spec.submodule_search_locations[0], "pulumi-plugin.json").read_text(encoding="utf-8")
    return str(json.loads(text)["version"])
