"""Self-contained HTML pages: everything a person wants to see about a fit, in one file that can be sent on.

Pages are imported when first used: that of a comparison loads models.
"""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes.report.assessment import write_assessment
    from genbayes.report.campaign import write_campaign
    from genbayes.report.comparison import write_comparison
    from genbayes.report.inference import write_inference

__all__ = ["write_assessment", "write_campaign", "write_comparison", "write_inference"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "assessment": ["write_assessment"],
        "campaign": ["write_campaign"],
        "comparison": ["write_comparison"],
        "inference": ["write_inference"],
    },
)
