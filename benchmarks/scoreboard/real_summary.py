"""The scoreboard of real noise as Markdown, and what must hold of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import norm

from scoreboard.real_cells import real_cells
from scoreboard.real_columns import COVERED, DRAWS, REAL_TITLES
from scoreboard.store import Record
from scoreboard.summary import table, verdict

TIE = 0.3  # points
PEERS = ("heads", "strong", "logistic", "cleanlab")
LEAST_ROOM = 1.0  # points from the classifier to the ceiling from which the distance counts
SIGNIFICANT = 0.05
SHOWN = [name for name in REAL_TITLES if name != "knn"]


class RealBoard:
    """The records by row, averaged over seeds, in percent."""

    def __init__(self, records: list[Record]) -> None:
        self.cells = {cell.name: cell for cell in real_cells()}
        self.records = {
            name: found for name in self.cells if (found := [record for record in records if record["cell"] == name])
        }

    def values(self, cell: str, column: str, what: str = "accuracy") -> np.ndarray | None:
        """Return a measure at each seed, None where one lacks it."""
        values = [record["columns"].get(column, {}).get(what) for record in self.records[cell]]
        return None if None in values else np.array(values, dtype=float)

    def mean(self, cell: str, column: str, what: str = "accuracy") -> float | None:
        """Return the mean over seeds, in percent."""
        values = self.values(cell, column, what)
        return None if values is None else 100 * float(values.mean())

    def margins(self, column: str, of: str = "npc") -> dict[str, float]:
        """Return by row how far NPC is above a column, in points."""
        pairs = {cell: (self.mean(cell, of), self.mean(cell, column)) for cell in self.records}
        return {cell: ours - other for cell, (ours, other) in pairs.items() if ours is not None and other is not None}

    def p_below(self, cell: str, of: str, column: str) -> float | None:
        """Return the chance of falling so far below a column, paired over test instances, means over seeds."""
        gains = []
        for record in self.records[cell]:
            both = [record["columns"].get(name, {}).get("right") for name in (of, column)]
            if None in both:
                return None
            ours, other = (np.unpackbits(np.frombuffer(bytes.fromhex(bits), np.uint8)).astype(float) for bits in both)
            gains.append(ours - other)
        gain = np.mean(gains, axis=0)
        error = gain.std() / np.sqrt(len(gain))
        return float(norm.cdf(gain.mean() / error)) if error > 0 else 1.0


def report(records: list[Record]) -> str:
    """Return the tables and the checks."""
    board = RealBoard(records)
    if not board.records:
        return "No row is finished yet."
    parts = ["## Test accuracy, %", accuracies(board), "## Noise and labels", noises(board)]
    parts += ["## What must hold", *checks(board)]
    return "\n\n".join(parts)


def accuracies(board: RealBoard) -> str:
    """Return the table of accuracies with their spread over seeds; columns that no row has are left out."""
    rows = []
    there = [name for name in SHOWN if any(board.values(cell, name) is not None for cell in board.records)]
    for cell, found in board.records.items():
        shown = []
        for column in there:
            values = board.values(cell, column)
            spread = "" if values is None or len(values) < 2 else f" ± {100 * values.std(ddof=1):.1f}"
            shown.append("" if values is None else f"{100 * values.mean():.1f}{spread if column == 'npc' else ''}")
        rows.append([cell, str(len(found)), *shown])
    return table(["row", "seeds", *(REAL_TITLES[name] for name in there)], rows)


def noises(board: RealBoard) -> str:
    """Return the table of estimated noise, error of T, ranking of wrong labels, corrected labels and calibration."""
    rows = []
    for cell, found in board.records.items():
        if board.mean(cell, "npc") is None:
            continue
        true = 100 * np.mean([record["facts"]["noise_rate"] for record in found])
        shown = [cell, f"{true:.1f}"]
        for column in ("npc", "checked"):
            held = [record["columns"].get(column) for record in found]
            if None in held:
                shown.append("")
                continue
            low, high = 100 * np.mean([one["interval"] for one in held], axis=0)
            shown.append(f"{board.mean(cell, column, 'noise_rate'):.1f} ({low:.0f} to {high:.0f})")
        for column, what in (
            ("npc", "transition_error"),
            ("npc", "ranking"),
            ("cleanlab", "ranking"),
            ("npc", "labels_right"),
            ("npc", "safe_right"),
            ("npc", "all_right"),
            ("classifier", "ece"),
            ("npc", "ece"),
        ):
            value = board.mean(cell, column, what)
            shown.append("" if value is None else f"{value:.1f}")
        rows.append(shown)
    head = ["row", "wrong labels, %", "NPC (90 %)", "… 100 checked", "error of T", "ranking", "cleanlab's"]
    return table([*head, "labels right", "… safe", "… all", "ECE, classifier", "ECE, NPC"], rows)


def checks(board: RealBoard) -> Iterator[str]:
    """Check the requirements one by one, and name the rows that violate them."""
    for of in ("npc", "unlabelled"):
        yield no_harm(board, of)
        for column in PEERS:
            margins = board.margins(column, of)
            below = {cell: margin for cell, margin in margins.items() if margin < -TIE}
            if margins:
                share = 1 - len(below) / len(margins)
                head = f"{REAL_TITLES[of]} at or above {REAL_TITLES[column]} in 90 % of the rows: {100 * share:.0f} %"
                yield verdict(head, below, len(margins), "points", share >= 0.9)
    for of, wanted in (("npc", 0.5), ("unlabelled", 0.5), ("checked", 0.8)):
        yield distance(board, of, wanted)
    yield coverage(board)
    yield coverage_when_checked(board)
    yield no_harm_to_labels(board)


def no_harm(board: RealBoard, of: str) -> str:
    """Check that no row is below the classifier by more than a tie and chance (Holm over the rows)."""
    margins = board.margins("classifier", of)
    if not margins:
        return f"- not known yet: {REAL_TITLES[of]}, harm to the classifier"
    chances = {cell: board.p_below(cell, of, "classifier") for cell in margins}
    known = sorted((chance, cell) for cell, chance in chances.items() if chance is not None)
    harmed: dict[str, float] = {}
    for i, (chance, cell) in enumerate(known):
        if chance * (len(known) - i) > SIGNIFICANT:
            break
        if margins[cell] < -TIE:
            harmed[cell] = margins[cell]
    lowest = min(margins, key=lambda cell: margins[cell])
    head = f"{REAL_TITLES[of]} never below the classifier by more than {TIE} points and chance"
    head += f" (lowest: {lowest} {margins[lowest]:+.1f})"
    return verdict(head, harmed, len(margins), "points")


def no_harm_to_labels(board: RealBoard) -> str:
    """Check that safe corrections leave no fewer labels right, at any seed."""
    harmed: dict[str, float] = {}
    mended, total = 0, 0
    for cell, found in board.records.items():
        for record in found:
            before, after = (record["columns"].get("npc", {}).get(what) for what in ("labels_right", "safe_right"))
            if before is None or after is None:
                continue
            total += 1
            mended += after > before
            if after < before:
                harmed[cell] = min(harmed.get(cell, 0.0), 100 * (after - before))
    head = f"safe corrections leave no fewer labels right at any seed, and more in {mended} of {total} rows and seeds"
    return verdict(head, harmed, len(board.records), "%")


def distance(board: RealBoard, of: str, wanted: float) -> str:
    """Check the mean share of the way from the classifier to the ceiling."""
    shares = {}
    for cell in board.records:
        low, ours, high = (board.mean(cell, column) for column in ("classifier", of, "ceiling"))
        if low is not None and ours is not None and high is not None and high - low >= LEAST_ROOM:
            shares[cell] = (ours - low) / (high - low)
    if not shares:
        return f"- not known yet: {REAL_TITLES[of]}, share of the way from the classifier to the true T"
    mean = float(np.mean(list(shares.values())))
    head = f"{REAL_TITLES[of]}: {100 * mean:.0f} % of the way from classifier to true T ({100 * wanted:.0f} wanted)"
    short = {cell: 100 * (share - wanted) for cell, share in shares.items() if share < wanted}
    return verdict(head, short, len(shares), "%", mean >= wanted)


def coverage(board: RealBoard) -> str:
    """Check in how many rows and seeds the 90 % interval of the noise rate holds the truth, or says it cannot tell.

    Where no noise is proven, the interval begins at exactly 0, and the report says so in words.
    """
    missed: dict[str, float] = {}
    total = held = open_ended = 0
    for cell, found in board.records.items():
        for record in found:
            if "npc" not in record["columns"]:
                continue
            low, high = record["columns"]["npc"]["interval"]
            true = record["facts"]["noise_rate"]
            total += 1
            if low - COVERED <= true <= high + COVERED:
                held += 1
            elif low == 0:
                open_ended += 1
            else:
                missed[cell] = 100 * (record["columns"]["npc"]["noise_rate"] - true)
    share, told = held / max(total, 1), open_ended / max(total, 1)
    head = f"NPC: the 90 % interval holds the noise rate in {100 * share:.0f} %, "
    head += f"and in {100 * told:.0f} % the report says that it cannot tell (80 wanted)"
    return verdict(head, missed, len(board.records), "points", share + told >= 0.8)


def coverage_when_checked(board: RealBoard) -> str:
    """Check in how many draws of a hundred checked labels the 90 % interval holds the truth."""
    wanted = 0.85
    held = {cell: board.mean(cell, "checked", "held") for cell in board.records}
    known = {cell: share / 100 for cell, share in held.items() if share is not None}
    if not known:
        return "- not known yet: NPC + 100 checked, how often the interval holds the noise rate"
    mean = float(np.mean(list(known.values())))
    head = f"NPC + 100 checked: of {DRAWS} draws a row and seed, the 90 % interval holds the noise rate in "
    head += f"{100 * mean:.0f} % ({100 * wanted:.0f} wanted)"
    missed = {cell: 100 * (share - wanted) for cell, share in known.items() if share < wanted}
    return verdict(head, missed, len(known), "%", mean >= wanted)
