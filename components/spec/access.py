"""Options that decide what pods may do and who may use the Kubernetes API."""

import re
from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from components.spec.choices import ApiAccess, PodSecurityLevel, WorkloadRules
from components.spec.options import Model

NAMESPACE = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
"""RFC 1123 label, as the API server checks names of namespaces."""
PersonRole = Literal["view", "edit", "admin", "cluster-admin"]
"""Cluster roles that every API server creates for people (Kubernetes, Using RBAC Authorization, User-facing roles)."""


def _issuer(text: str) -> str:
    """Return the URL. Raises ValueError for a URL that the API server refuses as an issuer."""
    if not re.fullmatch(r"https://[^/\s?#@]+(/[^\s?#]*)?", text):
        raise ValueError("it is not an https URL without query, fragment and user; write https://host/path")
    return text


def _prefix(text: str) -> str:
    """Return the prefix. Raises ValueError for one with which a token could name a user or group of the system."""
    # the API server takes "-" for no prefix, and a prefix and a claim together could make system:...
    if text == "-" or "system:".startswith(text[:7]):
        raise ValueError("a token could then name users of the system; write a prefix such as oidc:")
    return text


def _name(text: str) -> str:
    """Return a claim, client or group. Raises ValueError if it is empty, not printable, or has spaces at its ends."""
    if not text or not text.isprintable() or text != text.strip():
        raise ValueError("it is empty, or has control characters or spaces at an end; write the name alone")
    return text


def _claim(text: str) -> str:
    """Return a claim or its value. Raises ValueError for one that the API server's list of pairs cannot hold."""
    if "," in text or "=" in text:
        raise ValueError("it has a comma or an equals sign, which the API server's list of claims cannot hold")
    return text


Name = Annotated[str, AfterValidator(_name)]
Claim = Annotated[Name, AfterValidator(_claim)]


class PodSecurity(Model):
    """Pod Security Standards for namespaces without labels of their own. Kubernetes 1.23 and newer."""

    enforce: PodSecurityLevel = PodSecurityLevel.BASELINE
    """Level that refuses pods beyond it: privileged (refuses none), baseline or restricted."""
    warn: PodSecurityLevel = PodSecurityLevel.BASELINE
    """Level that warns the person who creates a pod beyond it."""
    audit: PodSecurityLevel = PodSecurityLevel.BASELINE
    """Level that marks pods beyond it in the audit log."""
    exempt_namespaces: list[Annotated[str, Field(pattern=NAMESPACE)]] = []
    """Namespaces to which no level applies, in addition to kube-system."""


class Admission(Model):
    """Admission policies for workloads, by the rules of `mullion lint`. Kubernetes 1.30 and newer."""

    windows_workloads: WorkloadRules = WorkloadRules.WARN
    """What happens to workloads that Windows nodes cannot run: none, warn (the creator) or enforce (refuse errors)."""
    exempt_namespaces: list[Annotated[str, Field(pattern=NAMESPACE)]] = []
    """Namespaces whose workloads are not judged, in addition to kube-system."""


class Oidc(Model):
    """Sign-in of people through an OpenID Connect provider, beside the administrator's certificate."""

    issuer: Annotated[str, AfterValidator(_issuer)]
    """URL of the provider, as in the claim `iss` of its tokens; control planes must reach it."""
    client: Name
    """Client id that tokens must be issued for (claim `aud`)."""
    username_claim: Name = "sub"
    """Claim with the user's name."""
    groups_claim: Name = "groups"
    """Claim with the user's groups."""
    prefix: Annotated[str, AfterValidator(_prefix), AfterValidator(_name)] = "oidc:"
    """Text before the names of users and groups in the cluster."""
    required_claims: dict[Claim, Claim] = {}
    """Claims that tokens must have, with their values."""
    admins: list[Name] = []
    """Groups with the role cluster-admin, named as in the token."""
    editors: list[Name] = []
    """Groups with the role edit in all namespaces, named as in the token."""
    viewers: list[Name] = []
    """Groups with the role view in all namespaces, named as in the token."""


class Api(Model):
    """Access to the Kubernetes API."""

    access: ApiAccess = ApiAccess.PRIVATE
    """Who reaches the API: private (the cluster's network) or public (also the ranges in `allow`)."""
    allow: list[IPv4Network] = []
    """Ranges that reach the API, a private one from connected networks only; on Azure public ones reach the stores."""
    virtual_network_rules: list[str] = []
    """Azure only: ids of further subnets whose machines reach the storage accounts, for `mullion` in their region."""
    oidc: Oidc | None = None
    """Sign-in of people through an OpenID Connect provider, beside the administrator's certificate."""
    audit_days: Annotated[int, Field(ge=0, le=3650)] = 90
    """Days for which the snapshot store keeps the API servers' audit logs; 0: they stay on the machines only."""
