"""Reports: what was found, as one HTML file that opens offline.

>>> from nablasso.report import build_report, write_report
>>> write_report(build_report(model, X, y, target="price"), "report.html")  # doctest: +SKIP
"""

from nablasso.report.build import Report, build_report
from nablasso.report.page import render_report, write_report

__all__ = ["Report", "build_report", "render_report", "write_report"]
