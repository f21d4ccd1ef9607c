"""Self-contained HTML pages: everything a person wants to see about a fit, in one file that can be sent on."""

from genbayes.reports.assessment import write_assessment
from genbayes.reports.comparison import write_comparison

__all__ = ["write_assessment", "write_comparison"]
