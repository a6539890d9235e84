"""The old name of `ptxgen.certify`'s parts."""

from ptxgen.certify.choices import count, illegal_choices, legal_choices, pairwise
from ptxgen.certify.gates import NEWEST, VERSIONS, targets_outside, version_before
from ptxgen.certify.judge import Refusal, judge, refusals
from ptxgen.certify.operands import constants, register_types
from ptxgen.certify.statements import Statement, statements, statements_of, within_limits
from ptxgen.certify.surroundings import module

__all__ = [
    "NEWEST", "VERSIONS", "Refusal", "Statement", "constants", "count", "illegal_choices", "judge", "legal_choices", "module",
    "pairwise", "refusals", "register_types", "statements", "statements_of", "targets_outside", "version_before", "within_limits",
]  # fmt: skip
