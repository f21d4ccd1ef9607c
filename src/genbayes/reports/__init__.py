"""Self-contained HTML pages: everything a person wants to see about a fit, in one file that can be sent on.

Pages are imported when first used: that of a comparison loads models, which a page of benchmark records does without.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genbayes.reports.assessment import write_assessment
    from genbayes.reports.campaign import write_campaign
    from genbayes.reports.comparison import write_comparison

__all__ = ["write_assessment", "write_campaign", "write_comparison"]

_HOME = {
    "write_assessment": "genbayes.reports.assessment",
    "write_campaign": "genbayes.reports.campaign",
    "write_comparison": "genbayes.reports.comparison",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'genbayes.reports' has no attribute {name!r}")
