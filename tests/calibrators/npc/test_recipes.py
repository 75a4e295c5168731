import pytest

from truelabel.calibrators.npc.recipes import RECIPES


@pytest.mark.parametrize(
    ("n", "batch_size", "epochs"),
    [
        (300, 32, 33),  # 9 steps an epoch, 290 in all
        (10_000, 128, 4),  # 78
        (20_000, 256, 3),  # 78, and 290 / √2 are enough
        (50_000, 512, 2),  # 98, 290 / 2
        (1_000_000, 1024, 2),
        (10, 32, 290),
    ],
)
def test_the_default_recipe_makes_enough_steps_and_two_passes(n, batch_size, epochs):
    assert RECIPES["default"].passes(n, batch_size) == epochs


@pytest.mark.parametrize("n", [10, 50_000])
def test_the_papers_recipe_has_its_ten_epochs(n):
    assert RECIPES["paper"].passes(n, 128) == 10
