"""Write a file as a comment of a pull request, or update the comment of an earlier run.

Environment: COMMENT (file; its first line identifies the comment), PULL_REQUEST (number), GITHUB_TOKEN (may write
pull requests); of the runner: GITHUB_API_URL, GITHUB_REPOSITORY. Standard library only.
"""

import hashlib
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

PAGE = 100
"""Comments in one answer, GitHub's maximum."""


def call(method: str, path: str, body: Any = None) -> Any:
    """Return the answer of GitHub's REST API."""
    request = urllib.request.Request(  # noqa: S310 - the runner names the address
        f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 # nosec B310
        return json.load(answer)


def earlier(number: int, mark: str) -> int | None:
    """Return the id of the bot's comment with this mark, or None."""
    page = 1
    while True:
        comments = call("GET", f"{number}/comments?per_page={PAGE}&page={page}")
        for comment in comments:
            if comment["user"]["type"] == "Bot" and comment["body"].startswith(mark):
                return int(comment["id"])
        if len(comments) < PAGE:
            return None
        page += 1


def main() -> None:
    """Write the comment, and print its address."""
    number, text = int(os.environ["PULL_REQUEST"]), Path(os.environ["COMMENT"]).read_text("utf-8")
    mark = f"<!-- mullion {hashlib.sha256(text.partition(chr(10))[0].encode()).hexdigest()[:12]} -->"
    body = {"body": f"{mark}\n{text}"}
    try:
        known = earlier(number, mark)
        written = (
            call("PATCH", f"comments/{known}", body) if known is not None else call("POST", f"{number}/comments", body)
        )
    except urllib.error.HTTPError as error:
        why = error.read(300).decode(errors="replace")
        sys.exit(f"no comment was written: {error.code} {why}; the job needs `permissions: pull-requests: write`")
    print(written["html_url"])


if __name__ == "__main__":
    main()
