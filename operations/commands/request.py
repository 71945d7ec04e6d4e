"""`mullion request`: calls of a portal's API. The token comes from a file or the environment alone."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from components.rollout.plain_text import plain
from components.spec.web_addresses import is_loopback
from operations.commands.portal_answers import Cluster, Event, Plan, Template, fits
from operations.console.exits import Exit, Stop
from operations.console.table import table

if TYPE_CHECKING:
    import httpx

VARIABLE = "MULLION_PORTAL_TOKEN"
TIMEOUT = 60
"""Timeout of a call in seconds: the portal plans a cluster before it answers a request."""
LOOK_SECONDS = 2
CODES = {401: Exit.USAGE, 404: Exit.USAGE, 422: Exit.USAGE, 409: Exit.REFUSED, 429: Exit.REFUSED}
"""Exit codes by the status of an answer; others are Exit.FAILED."""
BUSY = ("building", "removing")


@dataclass(frozen=True)
class Choice:
    """A request for a cluster. hours: None for the template's."""

    template: str
    fields: Mapping[str, str]
    hours: int | None


class Portal:
    """A portal's API. Raises Stop without a token, and for an address to which a token must not be sent."""

    def __init__(self, server: str, token_file: Path | None) -> None:
        _refuse_open_line(server)
        self.server = server.rstrip("/")
        self._token = _token(token_file)

    def call(self, form: Any, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Return the document of an answer. Raises Stop with the portal's words if it refuses.

        form: type of the answer (portal_answers); a server whose answer has another form is not a portal.
        """
        answer = self._sent(method, path, body, query)
        try:
            document = answer.json()
        except ValueError:
            document = None
        if answer.is_success and fits(document, form):
            return document
        raise self._refusal(answer.status_code, document)

    def download(self, path: str) -> bytes:
        """Return the content of an answer that is no document. Raises Stop."""
        answer = self._sent("GET", path, None, {})
        if answer.is_success:
            return answer.content
        raise self._refusal(answer.status_code, None)

    def _sent(self, method: str, path: str, body: Any, query: Mapping[str, str]) -> "httpx.Response":
        import httpx

        try:
            # trust_env: no proxy and no .netrc of the environment gets the token
            with httpx.Client(timeout=TIMEOUT, trust_env=False) as client:
                return client.request(
                    method,
                    f"{self.server}/api/v1{path}",
                    json=body,
                    params=query,
                    headers={"Authorization": f"Bearer {self._token}"},
                )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Stop(Exit.FAILED, f"{self.server}: no portal answers: {plain(error)}") from None

    def _refusal(self, status: int, document: Any) -> Stop:
        return Stop(CODES.get(status, Exit.FAILED), self._said(status, document))

    def _said(self, status: int, document: Any) -> str:
        if status == 401:
            return f"{self.server}: the token is unknown, revoked or expired; make one at {self.server}/tokens/"
        if status == 404:
            return f"{self.server}: there is no such cluster, template or team, or the token is not for its team"
        said = document.get("detail", "") if isinstance(document, dict) else ""
        text = said if isinstance(said, str) else json.dumps(said)
        lines = "\n".join(plain(line) for line in text.splitlines())
        return lines or f"{self.server}: answered {status}, which no portal does; check the address"


def _refuse_open_line(server: str) -> None:
    try:
        parts = urlsplit(server)
        host = parts.hostname or ""
    except ValueError:
        raise Stop(Exit.USAGE, f"--server: {plain(server)} is no address; write https://HOST") from None
    if parts.scheme == "https" and host:
        return
    if parts.scheme != "http" or not is_loopback(host):
        raise Stop(Exit.USAGE, f"--server: {plain(server)}: a token is sent by https only, or to this machine")


def _token(file: Path | None) -> str:
    if file is not None:
        try:
            text = file.read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise Stop(Exit.USAGE, f"--token-file: {plain(file)}: {reason}") from None
    else:
        text = os.environ.get(VARIABLE, "").strip()
    if not text:
        where = (
            f"--token-file: {plain(file)} is empty" if file else f"there is no token: set {VARIABLE}, or --token-file"
        )
        raise Stop(Exit.USAGE, f"{where}; tokens are made on the portal's page /tokens/")
    if not text.isascii() or not text.isprintable() or " " in text:
        raise Stop(Exit.USAGE, "the token has characters that no token has; copy it again from the portal's page")
    return text


def choices(settings: Sequence[str]) -> dict[str, str]:
    """Return the values of `--set PATH=VALUE` by path. Raises Stop."""
    found: dict[str, str] = {}
    for each in settings:
        path, equals, value = each.partition("=")
        if not path or not equals:
            raise Stop(Exit.USAGE, f"--set {plain(each)}: write PATH=VALUE, such as pools.windows.count=2")
        found[path] = value
    return found


def confirmed(cluster: str, answer: str | None) -> None:
    """Ask for the cluster's name unless it was given. Raises Stop."""
    if answer is None:
        try:
            answer = input(f"To remove the cluster, write its name ({plain(cluster)}): ")
        except EOFError:
            answer = ""
    if answer.strip() != cluster:
        raise Stop(Exit.REFUSED, f"not confirmed; to remove it without a question: --confirm {plain(cluster)}")


def catalogue(portal: Portal, *, as_json: bool) -> None:
    """Print the templates."""
    found = portal.call(list[Template], "GET", "/templates")
    if as_json:
        _print(found)
        return
    for each in found:
        cost = " ".join(each["plan"]["problems"]) or f"USD {each['plan']['month']:,.2f} a month"
        print(plain(f"{each['name']}: {each['title']}, {each['hours']} h, at most {each['most_hours']} h; {cost}"))
        rows = [(one["path"], one["default"], _offered(one), one["label"]) for one in each["fields"]]
        print(table(("field", "default", "choose", "meaning"), rows) if rows else "  nothing to choose")


def _offered(field: Mapping[str, Any]) -> str:
    return ", ".join(field["options"]) or f"{field['least']} to {field['most']}"


def plan(portal: Portal, choice: Choice, *, as_json: bool) -> None:
    """Print what a choice would build. Raises Stop with REFUSED if it cannot be asked for."""
    body = {"choices": dict(choice.fields), "hours": choice.hours}
    found = portal.call(Plan, "POST", f"/templates/{quote(choice.template, safe='')}/plan", body)
    _print_plan(found, "built at once", "waits for approval", as_json=as_json)


def plan_change(portal: Portal, cluster: str, choices: Mapping[str, str], *, as_json: bool) -> None:
    """Print what a cluster would be after a change. Raises Stop with REFUSED if it cannot be changed so."""
    found = portal.call(Plan, "POST", f"/clusters/{quote(cluster, safe='')}/change/plan", {"choices": dict(choices)})
    _print_plan(found, "changed at once", "another person may have to decide", as_json=as_json)


def _print_plan(found: Any, at_once: str, waits: str, *, as_json: bool) -> None:
    if as_json:
        _print(found)
    else:
        print(
            table(("machine", "system", "size"), [(one["name"], one["os"], one["size"]) for one in found["machines"]])
        )
        least = "at least " if found["unpriced"] else ""
        then = f"{waits}: {'; '.join(found['approval'])}" if found["approval"] else at_once
        print(plain(f"{least}USD {found['month']:,.2f} a month; {then}"))
    if found["problems"]:
        raise Stop(Exit.REFUSED, "\n".join(plain(each) for each in found["problems"]))


def ask(portal: Portal, choice: Choice, team: str, name: str, *, wait: bool, as_json: bool) -> None:
    """Ask for a cluster, and print its state."""
    body = {"team": team, "template": choice.template, "name": name, "choices": dict(choice.fields)}
    found = portal.call(Cluster, "POST", "/clusters", body | {"hours": choice.hours})
    _ended(portal, found, wait=wait, as_json=as_json)


def listed(portal: Portal, *, gone: bool, to_decide: bool, as_json: bool) -> None:
    """Print the clusters that the token may see."""
    found = portal.call(list[Cluster], "GET", "/clusters", gone=str(gone).lower(), to_decide=str(to_decide).lower())
    if as_json:
        _print(found)
        return
    headers = ("cluster", "state", "template", "expires", "USD a month", "asked by")
    rows = [
        (one["name"], one["state"], one["template"], _day(one["expires"]), one["month"], one["asked_by"])
        for one in found
    ]
    print(table(headers, rows) if rows else "there are no clusters")


def show(portal: Portal, cluster: str, *, wait: bool, as_json: bool) -> None:
    """Print a cluster with its newest job, and its history."""
    path = f"/clusters/{quote(cluster, safe='')}"
    _ended(portal, portal.call(Cluster, "GET", path), wait=wait, as_json=as_json)
    if not as_json:
        rows = [
            (_day(one["at"]), one["actor"], one["action"]) for one in portal.call(list[Event], "GET", f"{path}/events")
        ]
        print(table(("at", "who", "what"), rows))


def act(portal: Portal, cluster: str, action: str, body: Any = None, *, wait: bool, as_json: bool = False) -> None:
    """Call an action of a cluster, and print the cluster's state."""
    path = f"/clusters/{quote(cluster, safe='')}"
    call = ("DELETE", path) if action == "remove" else ("POST", f"{path}/{action}")
    _ended(portal, portal.call(Cluster, *call, body), wait=wait, as_json=as_json)


def _ended(portal: Portal, found: Any, *, wait: bool, as_json: bool) -> None:
    """Print a cluster; with `wait`, first wait for its job. Raises Stop if a job failed for which it waited."""
    path = f"/clusters/{quote(found['name'], safe='')}"
    if wait:
        found = portal.call(Cluster, "GET", path)
        while found["state"] in BUSY or (found["job"] or {}).get("state") in ("waiting", "running"):
            time.sleep(LOOK_SECONDS)
            found = portal.call(Cluster, "GET", path)
    if as_json:
        _print(found)
    else:
        _describe(found)
    if wait and (found["job"] or {}).get("state") == "failed":
        raise Stop(Exit.FAILED, f"the job of {plain(found['name'])} failed; its output is above")


def _describe(found: Any) -> None:
    why = f", because {found['reason']}" if found["state"] == "asked" else ""
    print(
        plain(f"{found['name']}: {found['state']}{why}; USD {found['month']} a month; expires {_day(found['expires'])}")
    )
    if cost := found.get("cost_so_far"):
        print(plain(f"  cost so far {cost}"))
    if found["endpoint"]:
        print(plain(f"  endpoint {found['endpoint']}"))
    if job := found.get("job"):
        print(plain(f"  job {job['kind']}: {job['state']}, attempt {job['attempt']}"))
        for line in job["lines"].splitlines()[-20:]:
            print(f"    {plain(line)}")


def _day(text: str | None) -> str:
    return text[:16].replace("T", " ") if text else "-"


def _print(document: Any) -> None:
    print(json.dumps(document, indent=2))
