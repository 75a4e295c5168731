"""What was found about some labels, as one HTML file that needs nothing else."""

from truelabel.report.write import write_report

__all__ = ["write_report"]
