"""Tables of the portal."""

from portal.models.accounts import Membership, Team, Token, User
from portal.models.audit import Event
from portal.models.catalogue import Template, Version
from portal.models.clusters import Cluster, Job
from portal.models.inquiries import Inquiry
from portal.models.notices import Notice

__all__ = ["Cluster", "Event", "Inquiry", "Job", "Membership", "Notice", "Team", "Template", "Token", "User", "Version"]
