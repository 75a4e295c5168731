"""Texts as numbers, without any network: which words they use, reduced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from truelabel.arrays import Floats

WORDS = 50_000  # words and pairs of words that are counted, at most
TOPICS = 128


def word_counts(texts: Sequence[str]) -> Any:
    """Return a sparse matrix of words and pairs of words, rare ones weighing more (TF-IDF)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    least = 2 if len(texts) >= 200 else 1
    counter = TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, min_df=least, max_features=WORDS, strip_accents="unicode"
    )
    try:
        return counter.fit_transform(texts)
    except ValueError:  # no words at all, or none twice: single letters, or a script without spaces
        counter = TfidfVectorizer(analyzer="char", ngram_range=(1, 3), sublinear_tf=True, max_features=WORDS)
        return counter.fit_transform(texts)


def places(texts: Sequence[str]) -> Floats:
    """Return a place drawn at random for each different text, so that equal texts, and no others, are at one place.

    Case and white space make no difference. Counts of words cannot tell which texts are equal: rare words are not in
    them.
    """
    _, which = np.unique([" ".join(text.casefold().split()) for text in texts], return_inverse=True)
    drawn = np.random.default_rng(0).normal(size=(int(which.max()) + 1, 8))
    return drawn.astype(np.float32)[which]


def topics(counts: Any, components: int, seed: int) -> Floats:
    """Return the strongest directions of sparse counts, each row brought to length 1."""
    from sklearn.decomposition import TruncatedSVD

    most = max(1, min(components, min(counts.shape) - 1))
    reduced = np.asarray(TruncatedSVD(most, random_state=seed).fit_transform(counts), dtype=np.float32)
    return np.asarray(reduced / np.maximum(np.linalg.norm(reduced, axis=1, keepdims=True), 1e-12))
