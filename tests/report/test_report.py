"""What the report says, and that it is one safe file."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from truelabel.calibrators.npc.report import Report
from truelabel.labels import Examined, Votes, consensus
from truelabel.report import matrices, write_report
from truelabel.report.case import Case
from truelabel.report.figures import by_class, curve, curves, rightness
from truelabel.report.map import key, lay_out

Written = Callable[..., str]
Make = Callable[..., Examined]
Elements = Callable[[str], Any]


def test_the_headlines_are_the_estimates(written: Written, make: Make, elements: Elements) -> None:
    text = elements(written(make(), title="Pets & friends")).text
    assert "Pets & friends" in text
    assert "About 12 of 60 labels are probably wrong: 20.0 %. With 90 % probability it is between 10 and 15." in text
    assert "No true label was used." in text
    assert "Another label suggested 12 20.0 % of the labels" in text
    assert "Predictions changed 12 20.0 % of the classifier's" in text
    assert "Given labels 80.0 % 75.0 % to 83.3 %" in text
    assert "Suggested labels 96.6 %" in text
    assert "Memorised" not in text


def test_duplicates_are_shown_with_different_labels_first(written: Written, make: Make, elements: Elements) -> None:
    """Of 60 instances the last eight are copies: of 0 to 7, whose labels are of three classes in turn."""
    examined = make()
    x = np.array(examined.predictions.features)
    x[52:] = x[:8]
    twice = replace(examined, predictions=examined.predictions.replace(features=x))
    differ = [k for k in range(8) if examined.found.labels[k] != examined.found.labels[52 + k]]
    text = elements(written(twice)).text
    assert "8 groups of 16 instances are duplicates by their features: 8 exact, the others near." in text
    assert f"{len(differ)} have different labels" in text
    assert f"Groups of duplicates 8 {len(differ)} with different labels" in text
    shown = text.split("What is there more than once")[1]
    assert shown.count("the same features") == len(differ)
    places = [shown.index(f"instance i{k} ") for k in differ]
    assert places == sorted(places)
    alike = next(k for k in range(8) if k not in differ)
    assert f"i{alike}, i{52 + alike}" in shown.split("Groups with equal labels")[1]
    assert "duplicates" not in elements(written(examined)).text


def test_annotators_are_shown_the_worst_first(written: Written, make: Make, elements: Elements) -> None:
    """Ann is always right, bob in three of four, cleo in half of the cases; dan has labelled nothing."""
    examined = make()
    truth = np.arange(60) % 3
    matrix = np.stack([truth, truth, truth, np.full(60, -1)], axis=1)
    matrix[::4, 1] = (truth[::4] + 1) % 3
    matrix[::2, 2] = (truth[::2] + 2) % 3
    votes = Votes(matrix, annotators=["ann", "bob <b>", "cleo", "dan"], class_names=["cat", "dog", "elk"])
    voted = replace(examined, found=replace(examined.found, consensus=consensus(votes)))
    page = written(voted)
    text = " ".join(elements(page).text.split("Who labelled, and how well")[1].split())
    table = voted.found.consensus.annotator_table.set_index("annotator")
    assert "180 labels of 4 annotators for 60 instances; on 30 of these all agree" in text
    places = [
        text.index(f"{name} {number} {100 * table.quality[name]:.1f}") for name, number in (("cleo", 60), ("ann", 60))
    ]
    assert places == sorted(places)
    assert f"{100 * table.low['cleo']:.1f} % to {100 * table.high['cleo']:.1f} %" in text
    assert table.most_confused["cleo"] in text
    assert "bob &lt;b&gt;" in page
    assert "The average annotator" in text
    assert "dan 0" in text


def test_anonymous_votes_are_shown_without_annotators(written: Written, make: Make, elements: Elements) -> None:
    examined = make()
    counts = 2 * np.eye(3, dtype=int)[np.arange(60) % 3]
    counts[:4] = [[1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0]]
    votes = Votes.from_counts(counts, class_names=["cat", "dog", "elk"])
    voted = replace(examined, found=replace(examined.found, consensus=consensus(votes)))
    text = " ".join(elements(written(voted)).text.split("Who labelled, and how well")[1].split())
    assert "119 labels for 60 instances; on 56 of these all agree" in text
    assert "Most frequent mistake" not in text
    wanted = text.split("Where one more vote would tell most")[1]
    assert wanted.index("i3 none") < wanted.index("i2 1 × cat, 1 × dog, 1 × elk")
    assert "Best asked" not in wanted


def test_what_fitting_found_is_shown_from_the_calibrator_or_as_noted(
    written: Written, make: Make, elements: Elements
) -> None:
    found = Report("default", 60, 3, 5.0, 0.2, 0.25, agreement=0.99, memorisation=0.93, weights={"vote": 0.6})
    of_calibrator = written(make(), calibrator=SimpleNamespace(report_=found))
    as_noted = written(make(report=found.to_dict(), seed=7, classifier={"epochs": 40}))
    for page in (of_calibrator, as_noted):
        text = elements(page).text
        assert "Memorised 93 %" in text
        assert "Weight of the expert “vote” 0.60" in text
    assert "seed 7 classifier › epochs 40" in " ".join(elements(as_noted).text.split())
    assert "report › recipe" not in elements(as_noted).text


def test_the_truth_is_measured_where_it_is_known(written: Written, make: Make, elements: Elements) -> None:
    truth = np.arange(60) % 3
    text = elements(written(make(), truth=[("cat", "dog", "elk")[k] for k in truth])).text
    assert "Against the truth" in text
    assert "Given labels 80.0 % 75.0 % to 83.3 % 80.0 %" in text
    assert "Suggested labels 96.6 % 100.0 %" in text
    assert "After: truth → suggested label" in text
    assert "No true label was used" not in text
    with pytest.raises(ValueError, match="the truth does not fit the predictions: labels has 3 rows"):
        written(make(), truth=[0, 1, 2])


def test_rightness_by_hand(make: Make) -> None:
    case = Case.of(make(), truth=np.arange(60) % 3)
    given, predicted, suggested = rightness(case)
    assert (given.expected, given.low, given.high, given.measured) == (0.8, 0.75, 50 / 60, 0.8)
    assert predicted.expected == pytest.approx(0.8 * 0.97 + 0.2 * 0.025, abs=1e-4)
    assert suggested.expected == pytest.approx(0.8 * 0.97 + 0.2 * 0.95, abs=1e-4)


def test_classes_by_hand(make: Make) -> None:
    rows = {row.name: row for row in by_class(Case.of(make(), truth=np.arange(60) % 3))}
    # Instances 0, 15, 30, 45 are cats labelled dog; 5, 20, … elks labelled cat; 10, 25, … dogs labelled elk.
    assert {name: (row.suspects, row.mostly, row.changed) for name, row in rows.items()} == {
        "cat": (4, "elk", 4),
        "dog": (4, "cat", 4),
        "elk": (4, "dog", 4),
    }
    assert (rows["cat"].before, rows["cat"].after) == (0.8, 1.0)


def test_a_calibration_curve_by_hand() -> None:
    sure = np.array([0.52] * 10 + [0.91] * 20 + [0.3] * 2, dtype=np.float32)
    right = np.array([1] * 4 + [0] * 6 + [1] * 20 + [0] * 2)
    found = curve("a", "b", sure, right)
    np.testing.assert_allclose(found.sure, [0.52, 0.91], atol=1e-6)
    np.testing.assert_allclose(found.right, [0.4, 1.0])
    assert found.count.tolist() == [10, 20]
    assert found.error == pytest.approx((10 * 0.12 + 20 * 0.09 + 2 * 0.3) / 32)


def test_the_curves_tell_what_they_are_against(make: Make) -> None:
    given, estimate = curves(Case.of(make()))
    assert (given.against, estimate.against) == ("the given labels", "the estimate")
    assert given.right.tolist() == [1.0]
    assert estimate.right[0] == pytest.approx(0.8 * 0.97 + 0.2 * 0.025, abs=1e-4)
    truth = np.arange(60) % 3
    classifier, suggestions = curves(Case.of(make(), truth=truth))[2:]
    assert classifier.right.tolist() == [0.8]
    assert suggestions.right.tolist() == [1.0]


def test_matrices_count_and_shade(make: Make) -> None:
    case = Case.of(make())
    found = matrices.counted(case, "t", ("labelled", case.given), ("suggested", case.suggested))
    assert [[cell.text for cell in row] for row in found.cells] == [["16", "", "4"], ["4", "16", ""], ["", "4", "16"]]
    assert found.cells[0][0].shade == 8
    assert found.cells[0][1].shade == 0
    assert found.cells[0][2].says == "labelled cat, suggested elk: 4 (20.0%)"
    noise = matrices.transition(case)
    assert [cell.text for cell in noise.cells[1]] == ["10", "80", "10"]


def test_many_classes_share_a_row_and_a_colour(make: Make) -> None:
    case = Case.of(make(n=400, names=tuple(f"class {k}" for k in range(40))))
    found = matrices.counted(case, "t", ("labelled", case.given), ("suggested", case.suggested))
    assert len(found.cells) == matrices.MOST_CLASSES
    assert found.pooled == 40 - matrices.MOST_CLASSES + 1
    assert sum(int(cell.text or 0) for row in found.cells for cell in row) == 400
    noise = matrices.transition(case)
    assert int(noise.cells[0][0].text) == 80
    assert 80 < int(noise.cells[-1][-1].text) <= 100
    colours = key(case)
    assert len(colours.entries) == 10
    assert colours.entries[-1][0] == "the other 31 classes"
    assert np.bincount(colours.slot).tolist() == [1] * 9 + [31]


@pytest.mark.parametrize("layout", ["tsne", "pca"])
def test_the_map_has_the_most_suspicious_on_top_and_keeps_like_together(layout: Any, make: Make) -> None:
    case = Case.of(make(n=400))
    found = lay_out(case, layout, most=150)
    assert found is not None
    assert len(set(found.rows.tolist())) == 150
    p_wrong = case.examined.found.p_wrong
    assert (np.diff(p_wrong[found.rows]) >= 0).all()
    assert set(case.examined.found.table.index[:100]) <= set(found.rows)
    assert found.points.min() >= 0
    truth = found.rows % 3
    distances = np.linalg.norm(found.points[:, None] - found.points[None], axis=2) + np.diag(np.full(150, np.inf))
    assert np.mean(truth[distances.argmin(axis=1)] == truth) > 0.95


def test_the_map_says_what_it_shows_and_can_be_left_out(written: Written, make: Make, elements: Elements) -> None:
    page = written(make(n=300), drawn=120)
    assert page.count('<circle cx="') == 120
    assert "120 of 300 are drawn" in elements(page).text
    assert "The first two principal components of the label-free features" in elements(page).text
    assert "classifier&#39;s probabilities: what lies close" in written(make(features=False))
    for left_out in (written(make(), layout="none"), written(make(n=3))):
        assert 'id="atlas"' not in left_out
    with pytest.raises(ValueError, match='layout is "tsne", "pca" or "none", not \'umap\''):
        written(make(), layout="umap")


@pytest.mark.parametrize("kind", ["image", "text", "row", "name"])
def test_every_kind_of_instance_is_shown_and_harmless(
    kind: str, sources: dict[str, dict[str, Any]], written: Written, make: Make, elements: Elements, hostile: str
) -> None:
    names = (f"cat {hostile}", "dog", "elk")
    ids = [f"{k} {hostile}" for k in range(60)]
    examined = make(names=names, source=sources[kind], ids=ids, note=hostile, **{hostile: hostile})
    page = written(examined, title=hostile)
    found = elements(page)
    assert len(found.named("script")) == 2
    assert not [attribute for _, attributes in found.tags for attribute in attributes if attribute.startswith("on")]
    outside = [a.get("src") or a.get("href") or "" for _, a in found.tags if "src" in a or "href" in a]
    assert all(address.startswith(("data:", "#")) for address in outside)
    cards = [attributes for attributes in found.named("li") if "data-given" in attributes]
    assert len(cards) == 12
    assert names[0] in {card["data-given"] for card in cards}
    images = [attributes for attributes in found.named("img") if attributes.get("id") != "sheet"]
    assert len(images) == (12 if kind == "image" else 0)
    if kind == "text":
        assert f"text 45 {hostile}" in found.text
    if kind == "row":
        assert found.text.count("length") == 12


def test_no_address_outside_the_file_is_in_it(
    sources: dict[str, dict[str, Any]], written: Written, make: Make, elements: Elements
) -> None:
    page = written(make(source=sources["image"]))
    assert not re.search(r"https?:|@import|url\(|src=\"//", page)
    policy = next(meta["content"] for meta in elements(page).named("meta") if "http-equiv" in meta)
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:;")
    script = page[page.rindex("<script>") + 8 : page.rindex("</script>")]
    assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in policy


def test_a_missing_image_is_named_instead(tmp_path: Path, written: Written, make: Make, elements: Elements) -> None:
    from PIL import Image

    Image.new("RGB", (300, 200), "red").save(tmp_path / "i0.jpg")
    ids = [f"i{k}.jpg" for k in range(60)]
    page = written(make(source={"folder": str(tmp_path)}, ids=ids))
    found = elements(page)
    assert [image["alt"] for image in found.named("img") if image.get("id") != "sheet"] == ["i0.jpg"]
    assert "file i5.jpg" in found.text


def test_labels_that_are_all_right_are_said_to_be(written: Written, make: Make, elements: Elements) -> None:
    examined = make()
    keep = np.flatnonzero(np.arange(60) % 5)
    found = examined.found
    kept = found.table.loc[[row for row in found.table.index if row in set(keep)]]
    kept.index = np.searchsorted(keep, kept.index)
    right = type(found)(
        kept, found.labels[keep], found.probs[keep], found.wrong, found.transition, found.class_names, None
    )
    said = examined.predictions[keep]
    from truelabel.labels import examined as together

    text = elements(written(together(said, right))).text
    assert "There is no label for which another is more probable." in text


def test_ten_thousand_images_of_pure_noise_stay_under_three_megabytes(tmp_path: Path, make: Make) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(10_000, 32, 32, 3), dtype=np.uint8)
    np.save(tmp_path / "images.npy", images)
    names = tuple(f"a class with quite a long name {k}" for k in range(60))
    ids = [f"some/folder/with/a/long/name/image-{k:06d}.png" for k in range(10_000)]
    examined = make(10_000, names, {"array": str(tmp_path / "images.npy")}, ids)
    path = write_report(examined, tmp_path / "report.html", truth=np.arange(10_000) % 60, layout="pca", progress=False)
    assert path.stat().st_size < 3_000_000
    page = path.read_text(encoding="utf-8")
    assert page.count("data-given=") == 100
    assert 'id="sheet"' in page
