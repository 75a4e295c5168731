"""Votes for one instance are alike beyond its class: some instances look like another class to everybody.

The chances that people give an instance each class are taken to be its own, drawn from a Dirichlet distribution around
the average annotator's row of its class. Votes are then counts from a Dirichlet–multinomial distribution: a second
equal vote tells less than the first, and a hundred people cannot make an ambiguous instance certain.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import gammaln, logsumexp

from truelabel.arrays import Array, Ints
from truelabel.label_noise.transition import TINY

# Votes after which an instance's own shares weigh as much as its class: endless for independent votes, then in steps of
# √2 down to 1. Below that, votes would hardly depend on the class at all.
CONCENTRATIONS = (np.inf, *(2.0 ** np.arange(10, -0.5, -0.5)))


class Dependence:
    """What the votes for each instance, taken together, say beyond each of them by itself.

    Parameters
    ----------
    counts : (n, c) array
        Votes by instance and class.
    """

    def __init__(self, counts: Ints) -> None:
        n, self.c = counts.shape
        rows, classes = np.nonzero(counts)
        # One column per class and number of votes that occurs, so that each is computed once.
        pairs, column = np.unique(np.stack([classes, counts[rows, classes]], axis=1), axis=0, return_inverse=True)
        self.classes, self.times = pairs.T
        self.which = csr_matrix((np.ones(len(rows)), (rows, column.ravel())), shape=(n, len(pairs)))
        self.total = counts.sum(axis=1)

    def log_ratio(self, average: Array, concentration: float) -> Array:
        """Return log p(votes | y) − Σ log p(vote | y) by instance and class y, by the average annotator: (n, c)."""
        if np.isinf(concentration):
            return np.zeros((len(self.total), self.c))
        share = np.maximum(average[:, self.classes].T, TINY)  # of each pair's class, by true class
        alpha = concentration * share
        times = self.times[:, None]
        joint = gammaln(alpha + times) - gammaln(alpha) - times * np.log(share)
        whole = gammaln(concentration + self.total) - gammaln(concentration)
        return np.asarray(self.which @ joint - whole[:, None])

    def likelier(self, alone: Array, average: Array, log_prior: Array, now: float) -> float:
        """Return the concentration next to `now`, or `now` itself, under which the votes are likeliest.

        `alone` is Σ log p(vote | y), (n, c). One step at a time, so that the classes can follow.
        """
        place = CONCENTRATIONS.index(now)
        tried = CONCENTRATIONS[max(place - 1, 0) : place + 2]
        fits = [logsumexp(log_prior + alone + self.log_ratio(average, one), axis=1).sum() for one in tried]
        return float(tried[int(np.argmax(fits))])
