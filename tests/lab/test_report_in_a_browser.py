"""The HTML report in Debian's Chromium: accessible (axe-core), quiet, self-contained, on a phone, dark, and printed.

The browser is `chromium` on PATH (`apt-get install chromium`; 20 s here). axe-core's rules come with the package
axe-playwright-python.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from operations.commands import html_report, report_contents
from operations.html_report import page as pages
from operations.html_report import results
from operations.stacks import machine_records, stack_files
from operations.verification.verdicts import as_junit
from tests import clones
from tests.operations.commands.pages import ROWS, RUN, build
from tests.operations.conftest import STACK

pytestmark = pytest.mark.lab
AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
PHONE, DESKTOP = {"width": 360, "height": 780}, {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def chromium(missing: Callable[[str, str], NoReturn]) -> str:
    return shutil.which("chromium") or missing("browser", "there is no chromium; apt-get install chromium")


@pytest.fixture(scope="module")
def browser(chromium: str, reports: dict[str, Path]) -> Iterator[Browser]:
    """Debian's Chromium without a window; as root it runs without its own sandbox, which refuses root.

    It starts after the reports are written, because its driver keeps an event loop that runs.
    """
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=chromium, args=arguments)
        yield found
        found.close()


@pytest.fixture(scope="module")
def reports(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of a planned stack and of a built one with a roll, failed tests and a failed run."""
    folder = tmp_path_factory.mktemp("reports")
    clones.write(folder, "small", STACK)
    (folder / "rows.xml").write_text(as_junit("small", ROWS))
    found = [results.read(folder / "rows.xml"), results.of_run(json.dumps(RUN), "result.json")]
    with pytest.MonkeyPatch.context() as patch:
        clones.work_in(folder, patch)
        planned = _written(folder / "planned.html", [])
        build("small")
        machine_records.write("small", {"web-0": ("i-web-0", {"state": "ready", "seconds": 412.0}, "")})
        file = folder / "stacks" / "Pulumi.small.yaml"
        file.write_text(file.read_text().replace("count: 2", "count: 20, disk_gb: 200, labels: {team: web}"))
        return {"planned": planned, "built": _written(folder / "built.html", found)}


def _written(file: Path, found: list[results.Results]) -> Path:
    stack = stack_files.load("small")
    known = html_report.known_of(stack)
    forecast = html_report.predicted(stack, known)
    file.write_text(pages.html(report_contents.contents(stack, known, forecast, found)))
    return file


def _opened(browser: Browser, file: Path, **settings: Any) -> tuple[Page, list[str], list[str]]:
    """Open a report; return the page, what the console said, and the addresses that were asked."""
    page = browser.new_page(**settings)
    said, asked = list[str](), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    return page, said, asked


@pytest.mark.parametrize("name", ["planned", "built"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_report_has_no_finding_of_axe_no_console_error_and_asks_for_no_file(
    viewport: dict[str, int], scheme: str, name: str, browser: Browser, reports: dict[str, Path]
) -> None:
    page, said, asked = _opened(browser, reports[name], viewport=viewport, color_scheme=scheme)
    folded = page.locator("details:not([open]) > summary")
    while folded.count():
        folded.first.click()
    width = page.evaluate("document.documentElement.scrollWidth")
    page.evaluate(AXE)
    found = page.evaluate("axe.run()")
    page.close()
    assert [(each["id"], each["impact"], each["nodes"][0]["html"]) for each in found["violations"]] == []
    assert {"color-contrast", "heading-order"} <= {each["id"] for each in found["passes"]}
    assert said == []
    assert asked == [reports[name].as_uri()]
    assert width == viewport["width"], "the page itself scrolls sideways"


def test_a_script_that_got_into_the_report_does_not_run(browser: Browser, reports: dict[str, Path]) -> None:
    text = reports["planned"].read_text()
    hostile = reports["planned"].with_name("hostile.html")
    hostile.write_text(text.replace("</main>", "<script>document.title = 'run'</script><img src='http://x/'></main>"))
    page, said, _ = _opened(browser, hostile)
    assert page.title() == "small: report of a Mullion cluster"
    assert len(said) == 2 and all("Content Security Policy" in each for each in said)
    page.close()


def test_the_report_prints_light_unfolded_and_within_the_paper(browser: Browser, reports: dict[str, Path]) -> None:
    page, said, _ = _opened(browser, reports["built"], color_scheme="dark", viewport={"width": 700, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    row = page.get_by_role("rowheader", name="web-19", exact=True)
    assert row.bounding_box(), "machines of a folded pool are printed"
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    paper = page.pdf(format="A4")
    page.close()
    assert paper.startswith(b"%PDF-") and paper.count(b"/Type /Page\n") >= 3
    assert said == []
