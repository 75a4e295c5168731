"""The contract of a calibrator: `fit` on Predictions, then `calibrate` others to probabilities."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from truelabel.arrays import Floats, Ints, spread
from truelabel.columns import Columns
from truelabel.fingerprint import Fingerprint, Shift
from truelabel.notices import ShiftWarning
from truelabel.predictions import Predictions
from truelabel.useless_features import warn_of_useless_features

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.evaluation import Evaluation

LEAST_SPREAD, MOST_SPREAD = 1e-20, 1e17  # of features; beyond them squares are 0, or infinite, in float32


class Calibrator(BaseEstimator):  # type: ignore[misc]
    """Learns from a classifier's predictions on its noisy training set what the true labels are.

    A subclass stores its parameters in `__init__` and supplies `_fit` and `_calibrate`; this class checks what
    goes in. Learned state ends in an underscore.
    """

    def fit(self, predictions: Predictions, y: None = None) -> Self:
        """Learn from predictions on the (noisy) training set.

        Parameters
        ----------
        predictions : Predictions
            What the classifier said about its training instances; `labels` are the noisy ones.
        y : None
            Ignored, there for scikit-learn's sake.
        """
        self._check_fittable(predictions)
        self._fit(predictions)
        self._remember(predictions)
        return self

    def _check_fittable(self, predictions: Predictions) -> None:
        if not isinstance(predictions, Predictions):
            raise TypeError(
                f"fit takes a truelabel.Predictions, not {type(predictions).__name__}; wrap the arrays first."
            )
        if len(predictions) < 2:
            raise ValueError("one instance is not enough to learn from; pass at least two.")
        if predictions.labels is not None and len(np.unique(predictions.labels)) < 2:
            raise ValueError(
                f"labels holds one class only (class {predictions.labels[0]}); at least two are needed to learn from."
            )
        hidden = {} if predictions.hidden is None else {"hidden": predictions.hidden}
        for name, view in {**predictions.views, **hidden}.items():
            width = spread(view)
            if width > MOST_SPREAD or 0 < width < LEAST_SPREAD:
                raise ValueError(
                    f"the columns of {name} have values that differ by {width:.2g} at most, whose squares float32 "
                    f"cannot hold; {'divide' if width > 1 else 'multiply'} them by a constant."
                )

    def _remember(self, predictions: Predictions, unseen: Predictions | None = None) -> None:
        self.n_classes_ = predictions.n_classes
        self.class_names_ = predictions.class_names
        self.feature_names_ = dict(predictions.feature_names)
        self.fingerprint_: Fingerprint | None = Fingerprint.of(predictions, unseen)
        self.view_widths_ = {name: view.shape[1] for name, view in predictions.views.items()}
        labels = predictions.hard if predictions.labels is None else predictions.labels
        own = hasattr(self, "report_")  # as NPC has, which weighs its evidence
        warn_of_useless_features(
            {name: predictions.views[name] for name in self._needed_views()},
            labels,
            "nothing is changed because of them and the classifier's answers stand" if own else "this can do harm",
        )

    def calibrate(self, predictions: Predictions) -> Floats:
        """Return p(y | x), an (n, c) array whose rows sum to 1.

        Its columns are in the order of the predictions' classes. Where classes and feature columns have names, they
        are matched by these with those that the calibrator was fitted on. A `ShiftWarning` tells of predictions that
        are not like those; see `shift`.
        """
        places, own = self.class_places(predictions), self._arranged(predictions)
        shift = self._shift(own)
        if shift.findings:
            warnings.warn(
                f"these predictions are not like those that the calibrator was fitted on: {shift}; check that features "
                "and classifier are the same, or fit again.",
                ShiftWarning,
                stacklevel=2,
            )
        probs = self._calibrate(own)
        return probs if places is None else probs[:, places]

    def shift(self, predictions: Predictions) -> Shift:
        """Say how predictions differ from those that the calibrator was fitted on.

        Noticed are features in other units, with other columns or in another order, classes that changed places, and
        another classifier, as far as it is surer or less sure, has another hidden layer, or answers otherwise for
        instances that were there when the calibrator was fitted. Below 50 instances nothing is compared.
        """
        return self._shift(self._arranged(predictions))

    def _shift(self, own: Predictions) -> Shift:
        return Shift() if self.fingerprint_ is None else self.fingerprint_.compare(own, self.class_names_)

    def class_places(self, predictions: Predictions) -> Ints | None:
        """Return for each class of `predictions` its number in `fit`; None where the two orders are the same."""
        self._check_fitted()
        self._check_classes(predictions)
        return self._columns().places(predictions)

    def _arranged(self, predictions: Predictions) -> Predictions:
        """Return predictions that were checked, with columns in the order of those that `fit` got."""
        self._check_fitted()
        self._check_classes(predictions)
        own = self._columns().arrange(predictions)
        self._check(own)
        return own

    def _columns(self) -> Columns:
        read = {name: names for name, names in self.feature_names_.items() if name in self._needed_views()}
        return Columns(self.class_names_, read)

    def predict(self, predictions: Predictions) -> Ints:
        """Return the most probable true class of each instance."""
        return np.asarray(self.calibrate(predictions).argmax(axis=1))

    def corrections(self, predictions: Predictions) -> pd.DataFrame:
        """Return the instances whose class changed: `id`, `from`, `to`, and the calibrated probability of `to`.

        The surest change comes first.
        """
        import pandas as pd

        probs = self.calibrate(predictions)
        before, after = predictions.hard, probs.argmax(axis=1)
        rows = np.flatnonzero(before != after)
        names = predictions.class_names or self.class_names_
        title = np.arange(self.n_classes_) if names is None else np.array(names, dtype=object)
        table = pd.DataFrame(
            {
                "id": rows if predictions.ids is None else predictions.ids[rows],
                "from": title[before[rows]],
                "to": title[after[rows]],
                "probability": probs[rows, after[rows]],
            },
            index=rows,
        )
        return table.sort_values("probability", ascending=False, kind="stable")

    def evaluate(
        self, predictions: Predictions, *, labels_are_true: bool = False, transition: Any = None, level: float = 0.9
    ) -> Evaluation:
        """Say whether the calibrator makes predictions better, on held-out instances whose labels may be wrong.

        Accuracy is corrected for the noise by T, with intervals over instances that are widened to what the fit knows
        of the share of wrong labels. That is right if these labels go wrong as those of the fit do, and if how they go
        wrong depends on the true class alone. Where it also depends on x, the correction favours whichever answers
        more like the labels.

        Parameters
        ----------
        predictions : Predictions
            What the classifier says of instances that neither it nor the calibrator learned from. Without labels the
            answer is only what changes, and how sure the calibrator is.
        labels_are_true : bool, default False
            Whether the labels are known to be right, as those that people checked.
        transition : (c, c) array, optional
            T[y, ỹ] = p(ỹ | y) of these labels, with classes in the order of `predictions`; what the calibrator found
            where None.
        level : float, default 0.9
            Of all intervals.

        Examples
        --------
        >>> import numpy as np, truelabel as tl
        >>> truth = np.arange(60) % 2
        >>> x = np.eye(2)[truth] + np.random.default_rng(0).normal(scale=0.1, size=(60, 2))
        >>> said = tl.Predictions(np.full((60, 2), [0.6, 0.4]), x, labels=truth)  # always the first class
        >>> knn = tl.calibrators.KNN().fit(said[:30])
        >>> knn.evaluate(said[30:], labels_are_true=True).verdict
        'better'
        """
        from truelabel.evaluation import evaluate

        own = self._arranged(predictions)
        learned = 0.0 if self.fingerprint_ is None else self.fingerprint_.share_learned(own)
        return evaluate(
            self, predictions, labels_are_true=labels_are_true, transition=transition, level=level, learned=learned
        )

    @abstractmethod
    def _fit(self, predictions: Predictions) -> None: ...

    @abstractmethod
    def _calibrate(self, predictions: Predictions) -> Floats: ...

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_classes_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first.")

    def _check_classes(self, predictions: Predictions) -> None:
        if not isinstance(predictions, Predictions):
            raise TypeError(
                f"a truelabel.Predictions is needed, not {type(predictions).__name__}; wrap the arrays first."
            )
        if predictions.n_classes != self.n_classes_:
            raise ValueError(
                f"probs has {predictions.n_classes} classes, but the calibrator was fitted on {self.n_classes_}; "
                "pass predictions of the same classifier."
            )

    def _check(self, predictions: Predictions) -> None:
        for name, width in self._needed_views().items():
            if name not in predictions.views:
                raise ValueError(
                    f"the calibrator was fitted on the view {name!r}, which is missing; pass it in features."
                )
            found = predictions.views[name].shape[1]
            if found != width:
                raise ValueError(
                    f"{name} has {found} columns, but the calibrator was fitted on {width}; "
                    "compute the features in the same way."
                )

    def _needed_views(self) -> dict[str, int]:
        """Return name and width of the views that `calibrate` reads."""
        return dict(self.view_widths_)
