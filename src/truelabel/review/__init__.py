"""The review page: a person goes through the suspicious labels and decides; every decision is kept in a file."""

from truelabel.review.decisions import Decisions
from truelabel.review.serving import serve

__all__ = ["Decisions", "serve"]
