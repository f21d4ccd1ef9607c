"""The report: records to tables, figures and sentences, and these to a page, Markdown or files; it never trains."""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes_bench.report.build import Report, build_report, read_report, save_figures, write_markdown
    from genbayes_bench.report.page import write_page

__all__ = ["Report", "build_report", "read_report", "save_figures", "write_markdown", "write_page"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"build": ["Report", "build_report", "read_report", "save_figures", "write_markdown"], "page": ["write_page"]},
)
