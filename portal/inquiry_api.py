"""Calls of the API that ask something about a cluster, and read the answer."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Router, Status

from portal import access, inquiries
from portal.api_calls import CALLS, CHANGES, REFUSALS, caller, visible
from portal.api_documents import InquiryDocument, MachineName, PublicKey

router = Router()


def _asking(kind: str) -> Any:
    """Register a function as POST /clusters/NAME/KIND."""
    documents = {202: InquiryDocument, **REFUSALS}
    return router.post(f"/clusters/{{name}}/{kind}", response=documents, operation_id=kind, throttle=[CALLS, CHANGES])


@_asking("kubeconfig")
def kubeconfig(request: HttpRequest, name: str, key: PublicKey) -> Any:
    """Ask for the parts of a kubeconfig of the caller, with a certificate for their public key."""
    user = caller(request)
    return Status(202, InquiryDocument.of(inquiries.kubeconfig(user, visible(user, name), key.public_key)))


@_asking("verify")
def verify(request: HttpRequest, name: str) -> Any:
    """Ask for tests of a running cluster."""
    user = caller(request)
    return Status(202, InquiryDocument.of(inquiries.verify(user, visible(user, name))))


@_asking("logs")
def logs(request: HttpRequest, name: str, wanted: MachineName) -> Any:
    """Ask for the redacted logs of a machine."""
    user = caller(request)
    return Status(202, InquiryDocument.of(inquiries.logs(user, visible(user, name), wanted.machine)))


@router.get("/clusters/{name}/inquiries/{number}/archive", response=dict(REFUSALS), operation_id="archive")
def archive(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Return the archive of logs (application/zip). What is in it was written by the machine."""
    user = caller(request)
    return inquiries.archive(get_object_or_404(access.inquiries(user, visible(user, name)), pk=number))


@router.get("/clusters/{name}/inquiries/{number}", response={200: InquiryDocument, **REFUSALS}, operation_id="inquiry")
def inquiry(request: HttpRequest, name: str, number: int) -> InquiryDocument:
    """Return an inquiry with its answer, for a day; of a kubeconfig only to the person who asked."""
    user = caller(request)
    return InquiryDocument.of(get_object_or_404(access.inquiries(user, visible(user, name)), pk=number))
