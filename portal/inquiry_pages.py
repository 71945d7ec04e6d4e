"""Pages that ask something about a cluster. The page's script makes the key of a kubeconfig in the browser."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET, require_POST

from portal import access, inquiries
from portal.api_documents import InquiryDocument
from portal.models import Cluster, Inquiry
from portal.refusals import NotPossible
from portal.views import Page, action, of_cluster, refuse_hurry


def _asking(ask: Callable[[HttpRequest, Cluster], Inquiry]) -> Page:
    """Return the page that asks; it answers the script with the inquiry, or with the reason of a refusal (409)."""

    @require_POST
    @of_cluster
    def asked(request: HttpRequest, found: Cluster) -> HttpResponse:
        try:
            refuse_hurry(request)
            return _answer(ask(request, found), 202)
        except NotPossible as error:
            return JsonResponse({"detail": str(error)}, status=409)

    return asked


def _answer(found: Inquiry, status: int = 200) -> HttpResponse:
    return JsonResponse(InquiryDocument.of(found).model_dump(mode="json"), status=status)


def _kubeconfig(request: HttpRequest, found: Cluster) -> Inquiry:
    return inquiries.kubeconfig(access.person(request), found, request.POST.get("public_key", "")[:1000])


kubeconfig = _asking(_kubeconfig)


verify = action(lambda request, found: inquiries.verify(access.person(request), found))
logs = action(lambda request, found: inquiries.logs(access.person(request), found, request.POST.get("machine", "")))


@require_GET
@of_cluster
def archive(request: HttpRequest, found: Cluster, number: int) -> HttpResponse:
    """Answer with the archive of logs."""
    return inquiries.archive(get_object_or_404(access.inquiries(access.person(request), found), pk=number))


@require_GET
@of_cluster
def inquiry(request: HttpRequest, found: Cluster, number: int) -> HttpResponse:
    """Answer the script with an inquiry."""
    return _answer(get_object_or_404(access.inquiries(access.person(request), found), pk=number))
