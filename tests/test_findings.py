"""The page of findings is what its command writes, and its verdicts follow from records."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from truelabel.lab import Cell, Record, load_grid

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/findings.md"


@pytest.fixture(scope="module")
def written() -> SimpleNamespace:
    """The modules of the command, and the page that it writes now."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import versus_paper
        from findings import claims, judging
    finally:
        sys.path.pop(0)
    page = versus_paper.page(sorted((ROOT / "results").glob("*.parquet")))
    return SimpleNamespace(page=page, command=versus_paper, claims=claims, judging=judging)


def test_the_page_is_current(written: SimpleNamespace) -> None:
    assert written.page == PAGE.read_text(encoding="utf-8"), (
        "docs/findings.md is not what the records give; run "
        "python benchmarks/versus_paper.py results/*.parquet --page docs/findings.md"
    )


def test_every_claim_has_a_verdict_and_what_was_not_run_says_so(written: SimpleNamespace) -> None:
    sections = re.split(r"^### \d+\. ", written.page, flags=re.MULTILINE)[1:]
    assert len(sections) == len(written.claims.CLAIMS)
    verdicts = f"({written.judging.HOLDS}|{written.judging.PARTLY}|{written.judging.NOT}|{written.judging.UNTESTED})"
    for section in sections:
        assert re.search(rf"\*\*{verdicts}\*\* \|$", section, re.MULTILINE), section.splitlines()[0]
    for claim in written.claims.CLAIMS:
        assert not claim.grid or load_grid(claim.grid).cells
    not_run = [part for part in sections if "| no record |" in part]
    assert not_run
    assert all(part.count("not tested here") == 1 and "holds" not in part for part in not_run)


def test_files_and_pages_that_the_claims_name_are_there(written: SimpleNamespace) -> None:
    for name in re.findall(r"`(tests/[\w/]+\.py)`", written.page):
        assert (ROOT / name).is_file(), name
    for name in re.findall(r"\]\((\w+\.md)", written.page):
        assert (ROOT / "docs" / name).is_file(), name


@pytest.fixture
def size(written: SimpleNamespace, monkeypatch: pytest.MonkeyPatch):
    """Make the records of one size: what is given replaces the figures of two seeds."""
    monkeypatch.setattr(written.judging, "LEAST_METHODS", 1)

    def make(*parts: dict, network: str = "mlp"):
        rows = []
        for part in parts:
            for seed in (0, 1):
                fields = {"dataset": "mnist", "noise": "idn:0.4", "calibrator": "npc-paper", "network": network}
                cell = Cell(**(fields | part.get("cell", {})), subset=100, noise_seed=seed)
                result = {"before": 0.5 + 0.01 * seed, "after": 0.6 + 0.011 * seed, "n": 100} | part.get("result", {})
                rows.append(Record(cell, "ok", result, part.get("seconds", {})).to_row())
        return written.judging.Size(100, network, pd.DataFrame(rows))

    return make


def test_nearly_all_gain(written: SimpleNamespace, size) -> None:
    judge = written.judging.nearly_all_gain
    up, down = {}, {"cell": {"noise": "sn:0.2"}, "result": {"after": 0.4}}
    assert judge(size(up), "npc-paper").verdict == "holds"
    assert judge(size(up, down), "npc-paper").verdict == "does not hold"  # half of them is not most
    more = [{"cell": {"noise": f"sn:{rate}"}} for rate in (0.1, 0.3)]
    found = judge(size(up, *more, down), "npc-paper")
    assert found.verdict == "holds in part"
    assert found.ours.startswith("ahead in 3 of 4, behind in 1;")
    assert judge(size(up), "npc") is None
    assert judge(size(up, *more), "npc-paper", dataset="cifar10 food101") is None


def test_few_methods_are_no_table_1(written: SimpleNamespace, size, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written.judging, "LEAST_METHODS", 2)
    assert written.judging.nearly_all_gain(size({}), "npc-paper") is None
    assert written.judging.nearly_all_gain(size({}, {"cell": {"method": "sce"}}), "npc-paper").verdict == "holds"


def test_rounds_after_the_first_may_add_a_tenth_of_it(written: SimpleNamespace, size) -> None:
    def judged(*rounds: float):
        part = {"cell": {"rounds": len(rounds)}, "result": {"before": 0.5, "by_round": list(rounds)}}
        return written.judging.one_round_is_enough(size(part), "npc-paper").verdict

    assert judged(0.7, 0.71, 0.715) == "holds"
    assert judged(0.7, 0.75) == "does not hold"
    assert judged(0.7, 0.6) == "does not hold"
    assert written.judging.one_round_is_enough(size({}), "npc-paper") is None


def test_errors_of_t_are_compared_with_all_four_methods(written: SimpleNamespace, size) -> None:
    def judged(own: float):
        others = [
            {"cell": {"method": name, "calibrator": "identity"}, "result": {"t_method": error}}
            for name, error in zip(written.judging.T_METHODS, (0.004, 0.003, 0.006, 0.005), strict=True)
        ]
        npc = {"cell": {"transitions": True}, "result": {"t_from_h": own}}
        found = written.judging.least_error_of_t(size(npc, *others), "npc-paper")
        assert written.judging.least_error_of_t(size(npc, *others[1:]), "npc-paper") is None
        return found.verdict

    assert [judged(own) for own in (0.002, 0.0035, 0.007)] == ["holds", "holds in part", "does not hold"]


def test_another_prior_is_judged_by_itself(written: SimpleNamespace, size) -> None:
    flat = {"cell": {"calibrator_settings": {"shape": "top-k"}}, "result": {"after": 0.9}}
    both = size({}, flat)
    assert written.judging.nearly_all_gain(both, "npc-paper").ours.startswith("ahead in 1 of 1")
    assert written.judging.flatter_is_better(both, "").verdict == "holds in part"  # no asymmetric noise was run
    assert written.judging.flatter_is_better(size({}), "") is None


def test_instance_dependent_noise_first_second_or_third(written: SimpleNamespace, size) -> None:
    others = [{"cell": {"noise": noise}, "result": {"after": 0.9}} for noise in ("sn:0.2", "asn:0.2")]
    verdicts = [written.judging.most_under_idn(size({}, *others[:k]), "npc-paper") for k in (0, 1, 2)]
    assert verdicts[0] is None
    assert [found.verdict for found in verdicts[1:]] == ["holds in part", "does not hold"]
    weak = {"cell": {"noise": "sn:0.2"}, "result": {"after": 0.5}}
    assert written.judging.most_under_idn(size({}, weak), "npc-paper").verdict == "holds"


def test_times_are_judged_with_the_classifiers_and_without(written: SimpleNamespace, size) -> None:
    def judged(fit: float, train: float):
        others = [
            {"cell": {"noise": "idn:0.2", "method": name}, "seconds": {"train": 10.0, "fit": 1.0}}
            for name in written.judging.T_METHODS
        ]
        own = {"cell": {"noise": "idn:0.2"}, "seconds": {"train": train, "fit": fit}}
        return written.judging.quicker(size(own, *others), "npc-paper").verdict

    assert judged(1.0, 5.0) == "holds"
    assert judged(1.0, 9.5) == "holds in part"
    assert judged(11.0, 1.0) == "does not hold"


def test_post_processors_are_compared_on_the_same_classifiers(written: SimpleNamespace, size) -> None:
    others = ("knn-paper", "rog")
    beside = [{"cell": {"calibrator": name}, "result": {"after": 0.55}} for name in others]
    assert written.judging.best_of(size({}, *beside), "npc-paper", others).verdict == "holds"
    beside[1]["result"] = {"after": 0.8}
    assert written.judging.best_of(size({}, *beside), "npc-paper", others).verdict == "does not hold"
    assert written.judging.best_of(size({}, beside[0]), "npc-paper", others) is None


def test_the_net_gain_is_that_of_the_venn_diagram(written: SimpleNamespace, size) -> None:
    def part(calibrator: str, **counts: int):
        regions = {f"gains_{k}": counts.get(k, 0) for k in "abcdefgh"}
        return {"cell": {"noise": "sn:0.2", "calibrator": calibrator}, "result": regions}

    ways = [part("npc-paper", b=5, f=20, d=3, h=1), part("causalnl", b=90, f=9, d=99)]
    found = written.judging.net_gain(size(*ways), "npc-paper")
    assert found.ours == (
        "mnist, 2 seeds: NPC (a) 0, (b) 5, (c) 0, (d) 3, (e) 0, (f) 20, (g) 0, (h) 1: net 21; "
        "CausalNL* (a) 0, (b) 90, (c) 0, (d) 99, (e) 0, (f) 9, (g) 0, (h) 0: net 0"
    )
    assert found.verdict == "holds"
    assert written.judging.net_gain(size(ways[0]), "npc-paper") is None
    assert written.judging.net_gain(size({}), "npc-paper") is None


def test_the_cost_is_the_time_of_an_image_and_epoch(written: SimpleNamespace) -> None:
    frame = pd.DataFrame(
        [
            {"network": "mlp", "method": "ce", "seconds.train": 20.0, "epochs": 10, "n": 100},
            {"network": "mlp", "method": "jocor", "seconds.train": 60.0, "epochs": 10, "n": 100},
            {"network": "cnn-9", "method": "ce", "seconds.train": 1.0, "epochs": 1, "n": 10},
        ]
    )
    speed = written.command.Speed.of(frame)
    fields = {"dataset": "cifar10", "method": "jocor", "method_settings": {"epochs": 36}, "subset": 1000}
    assert speed.hours(Cell(**fields, network="cnn-9")) == pytest.approx(0.1 * 3 * 36 * 1000 / 3600)
    assert speed.hours(Cell(**fields, network="resnet34")) is None
