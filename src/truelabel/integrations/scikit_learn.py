"""A scikit-learn meta-estimator: a classifier together with its calibrator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from truelabel.arrays import Array, Floats
from truelabel.calibrators.base import Calibrator
from truelabel.predictions import Predictions


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose predictions are calibrated to the true labels.

    Fits a classifier on noisy labels and a calibrator on its predictions. A classifier in scikit-learn's
    `FrozenEstimator` is left as it is: it should be the one trained on these X and y.

    Parameters
    ----------
    estimator : classifier, optional
        Needs `predict_proba`. Logistic regression where None.
    calibrator : Calibrator, optional
        `NPC()` where None.
    embed : transformer, optional
        Makes the label-free view out of X; it is fitted without y. X itself where None (the calibrator brings it
        to scale).
    random_state : int, optional
        Given to the calibrator where it takes one.

    Attributes
    ----------
    classes_ : array
        The classes.
    estimator_, calibrator_, embed_
        The fitted parts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import numpy as np, truelabel as tl
    >>> X, y = load_iris(return_X_y=True)
    >>> rng = np.random.default_rng(0)
    >>> noisy = np.where(rng.random(150) < 0.3, rng.integers(3, size=150), y)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> float(tree.fit(X, noisy).score(X, y)) < 0.85
    True
    >>> float(tl.CalibratedClassifier(tree, random_state=0).fit(X, noisy).score(X, y)) > 0.93
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        calibrator: Calibrator | None = None,
        embed: Any = None,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.embed = embed
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier on the noisy labels `y`, then the calibrator on what it says."""
        view, y = self._checked(X, y)
        check_classification_targets(y)
        encoder = LabelEncoder().fit(y)
        self.classes_ = encoder.classes_
        if len(self.classes_) < 2:
            raise ValueError("y has one class only; a classifier needs samples of at least 2 classes.")
        self.estimator_ = clone(self._estimator()).fit(_columns_named(X, view), y)
        self.embed_ = None if self.embed is None else clone(self.embed).fit(X)
        self.calibrator_ = self._calibrator()
        self.calibrator_.fit(self._said(X, view, labels=encoder.transform(y)))
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the calibrated probability of each class."""
        check_is_fitted(self)
        probs = self.calibrator_.calibrate(self._said(X, self._checked(X))).astype(np.float64)
        return probs / probs.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]

    def predict(self, X: Any) -> Array:
        """Return the most probable true class."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]  # type: ignore[no-any-return]

    def _estimator(self) -> Any:
        if self.estimator is None:
            from sklearn.linear_model import LogisticRegression

            return LogisticRegression(max_iter=1000)
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(
                f"{type(self.estimator).__name__} has no predict_proba; wrap it in CalibratedClassifierCV first."
            )
        return self.estimator

    def _calibrator(self) -> Calibrator:
        if self.calibrator is None:
            from truelabel.calibrators.npc import NPC

            return NPC(random_state=self.random_state, progress=False)
        calibrator: Calibrator = clone(self.calibrator)
        if self.random_state is not None and "random_state" in calibrator.get_params():
            calibrator.set_params(random_state=self.random_state)
        return calibrator

    def _said(self, X: Any, view: Any, labels: Any = None) -> Predictions:
        probs = self.estimator_.predict_proba(_columns_named(X, view))
        columns = np.searchsorted(self.classes_, self.estimator_.classes_)
        if len(columns) != len(self.classes_) or not np.array_equal(self.classes_[columns], self.estimator_.classes_):
            raise ValueError(
                "the frozen classifier knows other classes than y; pass the labels that it was trained on."
            )
        features = view if self.embed_ is None else self.embed_.transform(X)
        names = [str(name) for name in self.classes_]
        return Predictions(probs[:, np.argsort(columns)], features, labels=labels, class_names=names)

    def _checked(self, X: Any, *y: Any) -> Any:
        """Check X, and y in `fit`, as arrays where X is the view itself; an `embed` step may take anything."""
        if self.embed is None:
            return validate_data(self, X, *y, reset=bool(y), dtype=np.float64)
        if not y:
            return X
        if y[0] is None:
            raise ValueError("CalibratedClassifier requires y to be passed, but the target y is None")
        return X, column_or_1d(y[0], warn=True)


def _columns_named(X: Any, checked: Any) -> Any:
    """Return the data frame itself, whose column names a classifier may go by, and else the checked array."""
    return X if hasattr(X, "columns") else checked
