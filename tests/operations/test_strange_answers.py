"""Commands that call a portal or an API server, but reach another server that answers with JSON."""

import pytest

from operations.console.exits import Exit
from tests.operations.misuse import Words
from tests.operations.strange_servers import Site
from tests.operations.test_no_traceback import misuse

STRANGE = [
    *(
        ("request", *line.split())
        for line in ("catalogue", "ask t web --team red --wait", "ask t web --team red --plan")
    ),
    *(("request", *line.split()) for line in ("list --all", "show red-web --wait", "show red-web", "extend red-web 4")),
    *(("request", *line.split()) for line in ("remove red-web --confirm red-web", "retry red-web", "cancel red-web")),
    *(("request", *line.split()) for line in ("approve red-web --wait", "refuse red-web")),
]
"""Every command of a portal's API."""


@pytest.mark.parametrize("line", STRANGE, ids=" ".join)
def test_an_answer_that_is_not_a_portals_ends_with_a_message(line: Words, site: Site) -> None:
    ended = [misuse(site, (*line, "--server", f"{{portal}}/{number}"), {}, {}, "none") for number in range(12)]
    assert {result.exit_code for result in ended} & {Exit.FAILED}
    assert any("which no portal does; check the address" in result.stderr for result in ended)


AT_THE_API = [
    ("upgrade", "small", "1.36.5", "--check", "--kubeconfig", "{kubeconfig}"),
    ("join", "--check", "{kubeconfig}"),
    ("revoke", "small", "web-1", "--kubeconfig", "{kubeconfig}"),
    ("snapshot", "small", "--kubeconfig", "{kubeconfig}"),
    ("verify", "small", "--kubeconfig", "{kubeconfig}", "--timeout", "1s"),
]


@pytest.mark.parametrize("line", AT_THE_API, ids=" ".join)
def test_an_answer_that_is_not_an_api_servers_ends_with_a_message(line: Words, site: Site) -> None:
    result = misuse(site, line, {}, {}, "none")
    assert result.exit_code in (Exit.FAILED, Exit.REFUSED), result.output
