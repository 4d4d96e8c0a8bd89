"""How good is a problem's harness: mutants, designs that tell nothing, seeds -> findings and a grade of trust."""

from rtl_agent.audit.answers import verified_answers
from rtl_agent.audit.audit import AuditOptions, Auditor
from rtl_agent.audit.findings import AUDIT_VERSION, Fate, Findings, MutationScore, wilson
from rtl_agent.audit.store import BadTable, TrustTable, is_current, read_audit, read_audits, write_audit
from rtl_agent.audit.trust import Trust, TrustGrade, trust_of

__all__ = [
    "AUDIT_VERSION",
    "AuditOptions",
    "Auditor",
    "BadTable",
    "Fate",
    "Findings",
    "MutationScore",
    "Trust",
    "TrustGrade",
    "TrustTable",
    "is_current",
    "read_audit",
    "read_audits",
    "trust_of",
    "verified_answers",
    "wilson",
    "write_audit",
]
