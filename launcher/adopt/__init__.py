"""What runs and was started by somebody else: found, recorded as it is, and written as a profile."""

from launcher.adopt.editing import Edited, NotYet, edited
from launcher.adopt.finding import Found, find, of_script
from launcher.adopt.grouping import choose, deployment_name, deployments, names
from launcher.adopt.profile import profile_of
from launcher.adopt.record import AdoptedService, Adoption, OldFile, OldUnit
from launcher.adopt.recording import environment, plan_of, secrets_by_service, unwritable
from launcher.adopt.translating import Left, ServerSettings, settings

__all__ = [
    "AdoptedService",
    "Adoption",
    "Edited",
    "Found",
    "Left",
    "NotYet",
    "OldFile",
    "OldUnit",
    "ServerSettings",
    "choose",
    "deployment_name",
    "deployments",
    "edited",
    "environment",
    "find",
    "names",
    "of_script",
    "plan_of",
    "profile_of",
    "secrets_by_service",
    "settings",
    "unwritable",
]
