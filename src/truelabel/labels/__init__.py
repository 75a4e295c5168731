"""Finding and correcting wrong labels: table in, table out."""

from truelabel.labels.audit import Audit, audit
from truelabel.labels.audit_verdict import Verdict
from truelabel.labels.cleanlab import from_cleanlab, to_cleanlab
from truelabel.labels.correct import CorrectedLabels, correct_labels
from truelabel.labels.duplicates import Duplicates, find_duplicates
from truelabel.labels.examined import Examined, examined
from truelabel.labels.files import to_label_studio, write_label_studio, write_table
from truelabel.labels.issues import LabelIssues, MultiLabelIssues, examine, find_label_issues
from truelabel.labels.items import Items, items_of
from truelabel.labels.multilabel import MultiLabel
from truelabel.labels.several_annotators import Consensus, consensus
from truelabel.labels.vote_files import read_votes
from truelabel.labels.wrong import Count, WrongLabels
from truelabel.votes import Votes

__all__ = [
    "Audit",
    "Consensus",
    "CorrectedLabels",
    "Count",
    "Duplicates",
    "Examined",
    "Items",
    "LabelIssues",
    "MultiLabel",
    "MultiLabelIssues",
    "Verdict",
    "Votes",
    "WrongLabels",
    "audit",
    "consensus",
    "correct_labels",
    "examine",
    "examined",
    "find_duplicates",
    "find_label_issues",
    "from_cleanlab",
    "items_of",
    "read_votes",
    "to_cleanlab",
    "to_label_studio",
    "write_label_studio",
    "write_table",
]
