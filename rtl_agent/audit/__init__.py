"""How good is a problem's harness: mutants, designs that tell nothing, seeds -> findings and a grade of trust."""

from rtl_agent.audit.answers import verified_answers
from rtl_agent.audit.audit import AuditOptions, Auditor
from rtl_agent.audit.campaign import audit_all
from rtl_agent.audit.filtering import ANY_TRUST, NotTrusted, TrustFilter
from rtl_agent.audit.findings import AUDIT_VERSION, Fate, Findings, MutationScore, wilson
from rtl_agent.audit.material import REPAIRS, near_misses, repair
from rtl_agent.audit.store import BadTable, TrustTable, is_current, read_audit, read_audits, write_audit
from rtl_agent.audit.trust import Trust, TrustGrade, trust_of
from rtl_agent.problems import PROBLEM_SOURCES

# Below this room nobody can make a near miss. An installed package finds the source by its entry point.
PROBLEM_SOURCES.register("repairs")(REPAIRS)

__all__ = [
    "ANY_TRUST",
    "AUDIT_VERSION",
    "AuditOptions",
    "Auditor",
    "BadTable",
    "Fate",
    "Findings",
    "MutationScore",
    "NotTrusted",
    "Trust",
    "TrustFilter",
    "TrustGrade",
    "TrustTable",
    "audit_all",
    "is_current",
    "near_misses",
    "read_audit",
    "read_audits",
    "repair",
    "trust_of",
    "verified_answers",
    "wilson",
    "write_audit",
]
