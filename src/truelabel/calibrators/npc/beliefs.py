"""p(y | x) and p(y | x, ỹ) under the noise, each as sure as the labels bear out."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Floats, Ints
from truelabel.experts.panel import Panel
from truelabel.label_noise import LabelNoise
from truelabel.label_noise.model import contradicted
from truelabel.label_noise.swaps import Swapped
from truelabel.label_noise.transition import denoise, given_label, label_likelihood, noise_rate, settle
from truelabel.pool import likelihood_weights, pool, pool_everywhere

SHARPEST = 8.0  # times as sure as what labels are likeliest by, at most
HALVINGS = 8  # of the interval for that factor


class Believer:
    """Turns what is foretold of the labels into what is believed of the true classes.

    Parameters
    ----------
    noise : LabelNoise
        The noise in the labels.
    labels : (n,) array
        ỹ.
    swapped : Swapped, optional
        Where labels are swapped near a boundary.
    trusted : (n,) array, optional
        True classes, −1 where they are not known.
    own_label : bool
        Whether an instance's own label is heard.

    Attributes
    ----------
    expected : float
        How often p(y | x) is right, as it sees it itself with the noise that is proven.
    wrong : (n,) array
        The probability that each label is wrong, likewise.
    """

    def __init__(
        self,
        noise: LabelNoise,
        labels: Ints,
        swapped: Swapped | None,
        trusted: Ints | None,
        *,
        own_label: bool = True,
    ) -> None:
        self.noise, self.labels, self.swapped = noise, labels, swapped
        self.trusted, self.own_label = trusted, own_label
        self.sharpness = np.ones(1, dtype=np.float32)
        self.parts: Floats | None = None
        self.by_view: dict[str, float] = {}
        self.expected, self.wrong = 0.0, np.empty(0, dtype=np.float32)
        self.panel: Panel | None = None

    def weigh(self, foretold: Floats, rows: Ints, panel: Panel, by_view: dict[str, float], *, again: bool) -> None:
        """Choose how sure p(y | x) is, and what the neighbours' second vote counts beside it, by some rows' labels.

        Parameters
        ----------
        foretold : (n, c) array
            p(ỹ | x) by experts that have not seen the labels.
        rows : array
            Rows whose labels choose.
        panel : Panel
            Whose neighbours vote again.
        by_view : mapping
            Weights of the views.
        again : bool
            Whether they do.
        """
        clean = denoise(foretold, self.noise.proven)
        labels, part = self.labels[rows], self._swapped(rows)
        proven = self.noise.proven
        sharpness = likelihood_weights([clean[rows]], labels, label_likelihood(proven, labels, part))
        surely = pool_everywhere([clean], sharpness)
        self.expected = float(surely.max(axis=1).mean())
        own = given_label(surely, proven, self.labels, self.swapped)[np.arange(len(clean)), self.labels]
        self.wrong = np.asarray(1 - own, dtype=np.float32)
        likelihood = label_likelihood(self.noise.transition, labels, part)
        self.sharpness = self._sure_enough([clean[rows]], likelihood_weights([clean[rows]], labels, likelihood), rows)
        believed = self._heard(pool_everywhere([clean], self.sharpness))
        if not again or sum(by_view.values()) == 0:
            return
        self.panel, self.by_view = panel, by_view
        both = [clean[rows], panel.vote_again(believed, by_view)[rows]]
        self.parts = likelihood_weights(both, labels, likelihood)
        if self.parts[1] > self.parts[0]:
            # Neighbours have heard of the label they are asked about from each other: no more than half is theirs.
            halves = pool(both, np.full(2, 0.5, dtype=np.float32))
            self.parts = np.repeat(likelihood_weights([halves], labels, likelihood) / 2, 2)
        self.parts = self._sure_enough(both, self.parts, rows)

    def _sure_enough(self, parts: list[Floats], weights: Floats, rows: Ints) -> Floats:
        """Return weights scaled up until as many labels are believed to be wrong as there are at least.

        Where noise depends on x, labels are likelier by a p(y | x) that is too flat, and each would outvote it.
        """
        labels, part = self.labels[rows], self._swapped(rows)
        likelihood = label_likelihood(self.noise.transition, labels, part)
        least = noise_rate(self.noise.proven, self.noise.shares)

        def wrong(scale: float) -> float:
            heard = pool(parts, weights * np.float32(scale)) * likelihood
            return float(1 - (heard[np.arange(len(rows)), labels] / heard.sum(axis=1)).mean())

        if wrong(1.0) >= least:
            return weights
        low, high = 1.0, SHARPEST
        for _ in range(HALVINGS if wrong(high) > least else 0):
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if wrong(middle) >= least else (middle, high)
        return np.asarray(weights * np.float32(high), dtype=np.float32)

    def lower_upper_end(self, foretold: Floats, rows: Ints, share: float) -> None:
        """Lower the upper end of the noise by this share of what p(ỹ | x) with a classifier that knows more says."""
        if share > 0:
            clean = denoise(foretold[rows], self.noise.proven)
            upper = contradicted(clean, self.labels[rows], self._swapped(rows))
            self.noise = self.noise.with_upper(share * upper + (1 - share) * self.noise.upper)

    def believe(self, foretold: Floats, rounds: int) -> Floats:
        """Return p(y | x, ỹ); neighbours vote again so often with what is believed of them."""
        clean = denoise(foretold, self.noise.proven)
        believed = self._heard(pool_everywhere([clean], self.sharpness))
        if self.panel is not None and self.parts is not None:
            for _ in range(rounds):
                again = self.panel.vote_again(believed, self.by_view)
                believed = self._heard(pool_everywhere([clean, again], self.parts))
        return believed

    def _swapped(self, rows: Ints) -> Swapped | None:
        return None if self.swapped is None else self.swapped[rows]

    def _heard(self, clean: Floats) -> Floats:
        if not self.own_label:
            return settle(clean, self.trusted)
        return settle(given_label(clean, self.noise.transition, self.labels, self.swapped), self.trusted)
