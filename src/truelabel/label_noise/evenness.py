"""Whether wrong labels are spread evenly over a class, so that its surest instances show its row of T."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Floats, Ints
from truelabel.pool import CLEARLY

RAMP = 0.75  # what the class alone explains where p(label | x) rises evenly from one end to the other


def evenly_wrong(foretold: Floats, labels: Ints, wrong: float) -> bool:
    """Return whether wrong labels, of which the surest instances show a share, are spread evenly.

    Where classes overlap more and more towards their border, how sure experts are says much about a label: more than
    the name of the likeliest class does. Where labels are wrong at one rate, the name is all there is to know. So two
    predictions of labels are compared with the class shares by their squared errors: the full probabilities, and the
    label shares of the likeliest class alone. What of the first gain is missing from the second is gradual overlap.
    Labels are wrong evenly if clearly less is missing than labels are wrong, and less than on a ramp.

    This is no proof of noise. Where features take few values, as categories do, classes that overlap look the same.

    Parameters
    ----------
    foretold : (n, c) array
        p(ỹ | x) by experts that have not seen the labels.
    labels : (n,) array
        ỹ.
    wrong : float
        Share of wrong labels, as the surest instances of each class show it.
    """
    n, c = foretold.shape
    named = foretold.argmax(axis=1)
    shares = np.bincount(labels, minlength=c) / n
    counts = np.zeros((c, c))
    np.add.at(counts, (named, labels), 1)
    own = np.eye(c)[labels]
    of_named = (counts[named] - own + shares) / counts.sum(axis=1)[named][:, None]  # without the instance's own label
    by_shares = np.square(own - shares).sum(axis=1)
    full = by_shares - np.square(own - foretold).sum(axis=1)
    alone = by_shares - np.square(own - of_named).sum(axis=1)
    gain = float(full.mean())
    if gain <= 0:
        return False
    explained = min(float(alone.mean()) / gain, 1.0)
    error = float((alone - explained * full).std()) / np.sqrt(n) / gain
    return bool(explained - CLEARLY * error > max(RAMP, 1 - wrong))
