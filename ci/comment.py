"""Write a file as a comment of a merge request (GitLab) or of a pull request (Azure Repos), or update an earlier run's.

Argument: gitlab or azure. Does nothing without a token, or in a run that is not for a merge or pull request.
Environment: COMMENT (file; its first line identifies the comment). gitlab: COMMENT_TOKEN (access token of a project or
a person, scope `api`); of the job: CI_API_V4_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID. azure: SYSTEM_ACCESSTOKEN (its
identity may contribute to pull requests); of the job: SYSTEM_COLLECTIONURI, SYSTEM_TEAMPROJECTID, BUILD_REPOSITORY_ID,
BUILD_REPOSITORY_PROVIDER, SYSTEM_PULLREQUEST_PULLREQUESTID. Standard library only. GitHub: github_comment.py.
"""

import hashlib
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PAGE = 100
"""Notes in one answer, GitLab's maximum."""
API = "api-version=7.1"
"""Version of Azure DevOps' REST API."""
NOT_ALLOWED = (401, 403)
"""Answers to a change of a comment that another identity wrote."""
CLOSED = 4
"""Status of a thread of Azure Repos; an active one would block a branch whose policy requires resolved comments."""


def call(method: str, url: str, token: Mapping[str, str], body: Any = None) -> Any:
    """Return the answer of a REST API. token: the header that carries it."""
    request = urllib.request.Request(  # noqa: S310 - the service names the address
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={**token, "Accept": "application/json", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 # nosec B310
        return json.load(answer)


class GitLab:
    """Notes of the job's merge request."""

    missing = "the variable COMMENT_TOKEN: an access token with the scope `api`, whose role may comment"

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._token = {"PRIVATE-TOKEN": environment.get("COMMENT_TOKEN", "")}
        self.ready = bool(self._token["PRIVATE-TOKEN"]) and "CI_MERGE_REQUEST_IID" in environment
        if self.ready:
            project = f"{environment['CI_API_V4_URL']}/projects/{environment['CI_PROJECT_ID']}"
            self._notes = f"{project}/merge_requests/{environment['CI_MERGE_REQUEST_IID']}/notes"

    def written(self, mark: str) -> Iterator[str]:
        """Yield the address of each note with this mark."""
        page = 1
        while True:
            notes = call("GET", f"{self._notes}?per_page={PAGE}&page={page}", self._token)
            yield from (f"{self._notes}/{note['id']}" for note in notes if note["body"].startswith(mark))
            if len(notes) < PAGE:
                return
            page += 1

    def update(self, address: str, text: str) -> None:
        """Replace the text of a note."""
        call("PUT", address, self._token, {"body": text})

    def create(self, text: str) -> None:
        """Write a note."""
        call("POST", self._notes, self._token, {"body": text})


class Azure:
    """Threads of the run's pull request in Azure Repos."""

    missing = "the right `Contribute to pull requests` of the build service on the repository"

    def __init__(self, environment: Mapping[str, str]) -> None:
        token = environment.get("SYSTEM_ACCESSTOKEN", "")
        self._token = {"Authorization": f"Bearer {token}"}
        number = environment.get("SYSTEM_PULLREQUEST_PULLREQUESTID", "")
        self.ready = bool(token and number) and environment.get("BUILD_REPOSITORY_PROVIDER") == "TfsGit"
        if self.ready:
            project = f"{environment['SYSTEM_COLLECTIONURI']}{environment['SYSTEM_TEAMPROJECTID']}"
            repository = f"{project}/_apis/git/repositories/{environment['BUILD_REPOSITORY_ID']}"
            self._threads = f"{repository}/pullRequests/{number}/threads"

    def written(self, mark: str) -> Iterator[str]:
        """Yield the address of the first comment of each thread with this mark."""
        for thread in call("GET", f"{self._threads}?{API}", self._token)["value"]:
            first = next(iter(thread.get("comments") or [{}]))
            if not thread.get("isDeleted") and str(first.get("content", "")).startswith(mark):
                yield f"{self._threads}/{thread['id']}/comments/{first['id']}?{API}"

    def update(self, address: str, text: str) -> None:
        """Replace the text of a comment."""
        call("PATCH", address, self._token, {"content": text})

    def create(self, text: str) -> None:
        """Begin a closed thread."""
        comment = {"parentCommentId": 0, "content": text, "commentType": 1}
        call("POST", f"{self._threads}?{API}", self._token, {"comments": [comment], "status": CLOSED})


def put(service: GitLab | Azure, text: str) -> str:
    """Update this identity's comment of an earlier run, or write one; return which."""
    mark = f"<!-- mullion {hashlib.sha256(text.partition(chr(10))[0].encode()).hexdigest()[:12]} -->"
    body = f"{mark}\n{text}"
    for address in service.written(mark):
        try:
            service.update(address, body)
        except urllib.error.HTTPError as error:
            if error.code not in NOT_ALLOWED:
                raise
            error.close()  # somebody else wrote the mark: nobody can keep the comment from being written
            continue
        return "updated"
    service.create(body)
    return "written"


def main() -> None:
    """Write the comment; exit with a message if the service refuses it."""
    service = {"gitlab": GitLab, "azure": Azure}[sys.argv[1]](os.environ)
    if not service.ready:
        print("no comment: this run has no token for comments, or belongs to no merge or pull request")
        return
    try:
        print(f"comment {put(service, Path(os.environ['COMMENT']).read_text('utf-8'))}")
    except urllib.error.HTTPError as error:
        why = error.read(300).decode(errors="replace")
        sys.exit(f"no comment was written: {error.code} {why}; it needs {service.missing}")


if __name__ == "__main__":
    main()
