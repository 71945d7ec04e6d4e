"""Writes the files that are generated from code. A test compares them with the repository's copies."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path[0] = str(ROOT)  # replaces tools/, so no file there shadows a module

from components.checks import page  # noqa: E402
from components.lint import page as lint_page  # noqa: E402
from components.node import plan_schema  # noqa: E402
from components.node.kinds import page as kinds_page  # noqa: E402
from components.stack_files import arguments, schema  # noqa: E402
from tools import (  # noqa: E402
    attacks_page,
    clouds_page,
    error_page,
    requirements_page,
    stack_file_page,
    troubleshooting_page,
    witnesses_page,
)
from tools.golden import configs, plans  # noqa: E402
from tools.permissions import files as permission_files  # noqa: E402
from tools.permissions import page as permissions_page  # noqa: E402


def _json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def component_schema() -> str:
    """Return the schema of the component package. Renaming a token breaks programs in other languages."""
    from components.package.provider import ClusterPackage

    return _json(json.loads(ClusterPackage().schema or ""))


def versions_page() -> str:
    """Return docs/versions.md, with the support states on the day of the tables."""
    from datetime import date

    from components import releases
    from operations.commands import versions

    day = releases.FIGURES_OF
    text = versions.matrix(date.fromisoformat(day))
    return f"# Versions\n\nOutput of `mullion versions` on {day}.\n\n```\n{text}\n```\n"


def urns(stack: str) -> str:
    """Return the URNs of a stack, one on each line. A changed URN replaces that resource in existing clusters."""
    from components.stack_files.stack import stack_file_config
    from operations.recorder.recorder import record

    recorded = record(stack, stack_file_config(ROOT / "stacks" / f"Pulumi.{stack}.yaml"))
    return "".join(f"{each}\n" for each in sorted(each.urn for each in recorded.resources.values()))


STACKS = (
    *("aws-dev", "aws-ci", "aws-prod", "aws-docker", "aws-routed"),
    *(f"{cloud}-{kind}" for cloud in ("azure", "gcp") for kind in ("dev", "ci", "prod")),
)

FILES: dict[str, Callable[[], str]] = {
    "stacks/schema.json": lambda: _json(schema.stack_schema()),
    "docs/attacks.md": attacks_page.render,
    "docs/checks.md": page.render,
    "docs/clouds.md": clouds_page.render,
    "docs/errors.md": error_page.render,
    "docs/lint.md": lint_page.render,
    "docs/permissions.md": permissions_page.render,
    "docs/proof.md": attacks_page.proof,
    "docs/node-plan.md": kinds_page.render,
    "docs/requirements.md": requirements_page.render,
    "docs/stack-file.md": stack_file_page.render,
    "docs/node-plan.schema.json": lambda: _json(plan_schema.schema()),
    "docs/troubleshooting.md": troubleshooting_page.render,
    "docs/versions.md": versions_page,
    "docs/windows-witnesses.md": witnesses_page.render,
    **{f"docs/permissions/{name}": partial(permission_files.text, name) for name in permission_files.NAMES},
    "components/cluster_args.py": arguments.cluster_args,
    "components/option_args.py": arguments.option_args,
    "components/pod_args.py": arguments.pod_args,
    "components/schema.json": component_schema,
    **{f"tests/golden/urns/{stack}.txt": partial(urns, stack) for stack in STACKS},
    **{f"tests/golden/plans/{name}": partial(plans.file, name) for name in plans.NAMES},
    **{f"tests/golden/configs/{name}.txt": partial(configs.history, name) for name in configs.DOCUMENTS},
}
"""Path in the repository -> its text."""


def main() -> None:
    """Write each file that differs, and print its name."""
    for name, render in FILES.items():
        path, text = ROOT / name, render()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")


if __name__ == "__main__":
    main()
