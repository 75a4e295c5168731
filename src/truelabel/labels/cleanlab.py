"""The arrays that cleanlab takes and gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truelabel.labels.issues import LabelIssues
from truelabel.predictions import Predictions

if TYPE_CHECKING:
    import pandas as pd


def from_cleanlab(labels: Any, pred_probs: Any, features: Any = None) -> Predictions:
    """Wrap what cleanlab's functions take: labels, and pred_probs that were predicted out of sample.

    Features are not needed, and help.

    Examples
    --------
    >>> import truelabel as tl
    >>> tl.labels.from_cleanlab([0, 1], [[0.9, 0.1], [0.7, 0.3]])
    Predictions(n=2, classes=2, labels, out_of_sample)
    """
    return Predictions(pred_probs, features, labels=labels, out_of_sample=True)


def to_cleanlab(found: LabelIssues) -> pd.DataFrame:
    """Return the table that cleanlab's `CleanLearning.get_label_issues` gives, in the instances' own order.

    The columns are `is_label_issue`, `label_quality`, `given_label` and `predicted_label`. As arrays: `found.mask()`
    is what cleanlab's `find_label_issues` returns, `found.ranked()` what it returns with `return_indices_ranked_by`,
    and `found.quality()` are label quality scores.
    """
    import pandas as pd

    return pd.DataFrame(
        {
            "is_label_issue": found.mask(),
            "label_quality": found.quality(),
            "given_label": found.labels,
            "predicted_label": found.suggested,
        }
    )
