"""Commands import a cloud's SDK only once they know the cloud: each takes one to three seconds of a core."""

import subprocess
import sys

import pytest

ALL_COMMANDS = """
import pkgutil, sys
from operations import commands, reaping

for package in (commands, reaping):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        __import__(module.name)
print(sorted(each for each in ("pulumi_aws", "pulumi_azure_native", "pulumi_gcp") if each in sys.modules))
"""


@pytest.mark.subprocess
def test_no_command_imports_a_clouds_sdk() -> None:
    process = subprocess.run([sys.executable, "-c", ALL_COMMANDS], capture_output=True, text=True, timeout=120)
    assert process.stdout.splitlines()[-1:] == ["[]"], process.stderr


@pytest.mark.subprocess
@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_a_clouds_own_functions_import_no_other_sdk(cloud: str) -> None:
    program = (
        f"import sys, operations.clouds.{cloud}, components.{cloud}.cluster;"
        "print(sorted(each for each in ('pulumi_aws', 'pulumi_azure_native', 'pulumi_gcp') if each in sys.modules))"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    own = "pulumi_azure_native" if cloud == "azure" else f"pulumi_{cloud}"
    assert process.stdout.splitlines()[-1:] == [f"['{own}']"], process.stderr
