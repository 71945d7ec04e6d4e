"""The role to paste in docs/azure.md: it allows what Mullion writes and what the documents' commands read."""

import json
import re
from fnmatch import fnmatch
from pathlib import Path

from sandbox.azure import names

PAGE = Path(__file__).resolve().parents[2] / "docs" / "azure.md"
READS = (
    "Microsoft.Compute/galleries/images/read",
    "Microsoft.Compute/galleries/images/versions/read",
    "Microsoft.KeyVault/deletedVaults/read",
    "Microsoft.KeyVault/locations/deletedVaults/read",
    "Microsoft.Resources/subscriptions/operationresults/read",
    "Microsoft.Resources/subscriptions/providers/read",
    "Microsoft.Resources/subscriptions/resources/read",
)
"""Images of a gallery; `az keyvault list-deleted` (Azure has both names); the state of a deletion; registered
providers; `az resource list`."""


def test_the_role_allows_to_write_every_type_and_to_read_what_the_page_names() -> None:
    found = re.search(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    allowed = json.loads(found[1])["Actions"]
    kinds = {each.arm for each in vars(names).values() if isinstance(each, names.Kind)}
    assert len(kinds) > 20
    for action in (*READS, *(f"{kind}/{verb}" for kind in sorted(kinds) for verb in ("read", "write", "delete"))):
        assert any(fnmatch(action, each) for each in allowed), action
