from functools import partial

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import nn

from truelabel import NPC, Predictions
from truelabel.calibrators.npc import Belief, VotePrior
from truelabel.calibrators.npc.report import Report
from truelabel.scale import Scale, moments

RECIPES = ["default", "paper"]


@pytest.fixture(scope="module")
def made(problem):
    return problem(n=300, ids=np.array([f"image {i}" for i in range(300)]), class_names=["ant", "bee", "cow"])


@pytest.fixture(scope="module")
def npc(made):
    return NPC(random_state=0).fit(made.said)


@pytest.fixture(scope="module")
def paper(made):
    return NPC("paper", random_state=0, epochs=3).fit(made.said)


def is_distribution(probs: np.ndarray, shape: tuple[int, ...]) -> bool:
    return probs.shape == shape and bool((probs >= 0).all()) and bool(np.allclose(probs.sum(axis=-1), 1, atol=1e-5))


class TestAnswers:
    def test_it_sees_through_noise_that_the_classifier_learned_by_heart(self, npc, made, problem):
        assert (made.said.hard == made.truth).mean() < 0.75
        assert (npc.predict(made.said) == made.truth).mean() > 0.97
        new = problem(n=200, seed=1)
        assert (new.said.hard == new.truth).mean() < 0.75
        assert (npc.predict(new.said) == new.truth).mean() > 0.97

    @pytest.mark.parametrize("fitted", ["npc", "paper"])
    def test_the_answer_is_float32_and_sums_to_one(self, fitted, made, request):
        probs = request.getfixturevalue(fitted).calibrate(made.said)
        assert probs.dtype == np.float32
        assert is_distribution(probs, (300, 3))

    @pytest.mark.parametrize("fitted", ["npc", "paper"])
    def test_blocks_of_the_transition_add_up_to_the_answer(self, fitted, made, request, monkeypatch):
        monkeypatch.setattr("truelabel.calibrators.npc.calibrator.BLOCK_CELLS", 900)
        calibrator = request.getfixturevalue(fitted)
        blocks = list(calibrator.transition(made.said))
        assert [len(block) for block in blocks] == [100, 100, 100]
        transition = np.concatenate(blocks)
        assert is_distribution(transition, (300, 3, 3))
        expected = np.einsum("nk,nkj->nj", made.said.probs, transition)
        np.testing.assert_allclose(calibrator.calibrate(made.said), expected, atol=1e-5)

    def test_looping_over_the_transition_leaves_torch_as_it_was(self, npc, made):
        for _ in npc.transition(made.said):
            assert not torch.is_inference_mode_enabled()

    @pytest.mark.parametrize("fitted", ["npc", "paper"])
    def test_the_posterior_is_the_row_of_h_of_the_predicted_class(self, fitted, made, request):
        calibrator = request.getfixturevalue(fitted)
        posterior = calibrator.posterior(made.said)
        transition = np.concatenate(list(calibrator.transition(made.said)))
        rows = np.arange(300)
        np.testing.assert_allclose(posterior.probs, transition[rows, made.said.hard], atol=1e-5)
        excess = posterior.concentration - 1
        assert (excess > 0).all()
        np.testing.assert_allclose(posterior.probs, excess / excess.sum(axis=1, keepdims=True), atol=1e-3)
        assert ((posterior.expected_entropy > 0) & (posterior.expected_entropy < np.log(3))).all()
        np.testing.assert_allclose(posterior.p_wrong, 1 - calibrator.calibrate(made.said).max(axis=1), atol=1e-6)

    def test_the_posterior_is_less_sure_between_the_blobs_than_in_them(self, npc, made):
        centres = np.stack([made.x[made.truth == k].mean(axis=0) for k in range(3)])
        probs = np.full((3, 3), 1 / 3)
        inside = npc.posterior(Predictions(probs, centres)).expected_entropy
        between = npc.posterior(Predictions(probs, (centres + np.roll(centres, 1, axis=0)) / 2)).expected_entropy
        assert between.mean() > inside.mean() + 0.05

    def test_corrections_are_the_instances_whose_class_changed(self, npc, made):
        table = npc.corrections(made.said)
        probs = npc.calibrate(made.said)
        after = probs.argmax(axis=1)
        changed = np.flatnonzero(after != made.said.hard)
        assert list(table.columns) == ["id", "from", "to", "probability"]
        assert sorted(table.index) == changed.tolist()
        assert table["id"].tolist() == [f"image {i}" for i in table.index]
        names = np.array(["ant", "bee", "cow"])
        assert table["from"].tolist() == names[made.said.hard[table.index]].tolist()
        assert table["to"].tolist() == names[after[table.index]].tolist()
        np.testing.assert_allclose(table["probability"], probs[table.index, after[table.index]])
        assert table["probability"].is_monotonic_decreasing
        assert made.moved[table.index].mean() > 0.97

    def test_corrections_without_ids_or_names_count_rows_and_classes(self, problem):
        made = problem(n=100)
        table = NPC(random_state=0, epochs=20).fit(made.said).corrections(made.said)
        assert len(table) > 10
        assert (table["id"] == table.index).all()
        assert (table["from"].to_numpy() == made.said.hard[table.index]).all()


class TestReport:
    def test_it_says_what_fitting_found(self, npc, made):
        report = npc.report_
        assert (report.n, report.classes, report.recipe, report.rho) == (300, 3, "default", 5)
        assert report.agreement == 1
        assert report.memorisation > 0.7
        assert report.noise_rate == pytest.approx(made.moved.mean(), abs=0.08)
        assert report.changed == pytest.approx(np.mean(npc.predict(made.said) != made.said.hard))
        assert report.disagreement == pytest.approx(made.moved.mean(), abs=0.06)
        assert set(report.weights) == {"features vote", "features head", "classifier"}
        assert set(report.views) == set(report.k) == {"features"}
        assert set(report.seconds) == {"prior", "autoencoder"}
        assert len(npc.history_) >= 10
        assert report.to_dict()["noise_rate"] == report.noise_rate

    def test_how_labels_come_out_is_an_attribute(self, npc, made, paper):
        np.testing.assert_allclose(npc.transition_matrix_, np.full((3, 3), 0.15) + 0.55 * np.eye(3), atol=0.1)
        np.testing.assert_allclose(npc.transition_matrix_.sum(axis=1), 1)
        np.testing.assert_allclose(npc.class_shares_, np.bincount(made.truth) / 300, atol=0.02)
        right = npc.class_shares_ @ np.diag(npc.transition_matrix_)
        assert npc.report_.noise_rate == pytest.approx(1 - right)
        assert paper.transition_matrix_ is None
        assert paper.class_shares_ is None

    def test_it_reads_as_a_table(self, npc):
        text = str(npc.report_)
        assert "default recipe, on 300 instances of 3 classes" in text
        for value in (npc.report_.memorisation, npc.report_.noise_rate, npc.report_.changed):
            assert f"{100 * value:.1f} %" in text
        assert f"{npc.report_.k['features']} on features" in text
        assert "ρ = 5" in text

    def test_an_honest_classifier_is_found_to_have_memorised_nothing(self, made):
        honest = made.said.replace(probs=0.05 + 0.85 * np.eye(3)[made.truth])
        npc = NPC(random_state=0, epochs=30).fit(honest)
        assert npc.report_.memorisation < 0.1
        assert npc.report_.changed < 0.02
        assert (npc.predict(honest) == made.truth).mean() > 0.98

    def test_what_was_not_estimated_is_not_known(self, paper):
        assert paper.report_.memorisation is None
        assert paper.report_.noise_rate is None
        assert str(paper.report_).count("not known") == 2


class TestScikitLearn:
    def test_parameters_are_kept_as_given_and_can_be_cloned(self):
        given = {"recipe": "paper", "rho": 3.0, "k": 7, "shape": "top-k", "random_state": 4, "device": "cpu"}
        npc = NPC(**given)
        assert given.items() <= npc.get_params().items()
        copy = clone(npc)
        assert copy is not npc
        assert copy.get_params() == npc.get_params()
        assert copy.set_params(rho=2.0).rho == 2.0
        assert npc.rho == 3.0
        with pytest.raises(ValueError, match="Invalid parameter"):
            npc.set_params(ro=2.0)

    def test_a_clone_is_not_fitted(self, npc, made):
        with pytest.raises(NotFittedError, match="call fit first"):
            clone(npc).calibrate(made.said)

    def test_fitting_changes_no_parameter(self, npc):
        assert npc.get_params() == NPC(random_state=0).get_params()


class TestSeeds:
    @pytest.mark.parametrize("recipe", RECIPES)
    def test_one_seed_gives_one_answer_and_another_a_different_one(self, recipe, problem):
        said = problem(n=60).said
        answers = [
            NPC(recipe, random_state=seed, epochs=2, batch_size=20).fit(said).calibrate(said) for seed in (0, 0, 1)
        ]
        np.testing.assert_array_equal(answers[0], answers[1])
        assert np.abs(answers[0] - answers[2]).max() > 1e-4

    def test_torchs_own_random_state_is_left_alone(self, problem):
        torch.manual_seed(123)
        before = torch.get_rng_state()
        made = problem(n=50)
        NPC(epochs=1).fit(made.said).calibrate(made.said)
        assert torch.equal(torch.get_rng_state(), before)

    def test_without_a_seed_two_fits_differ(self, problem):
        said = problem(n=50).said
        first, second = (NPC(epochs=1).fit(said).calibrate(said) for _ in range(2))
        assert np.abs(first - second).max() > 1e-4


class TestInput:
    @pytest.mark.parametrize("recipe", RECIPES)
    @pytest.mark.parametrize(("n", "c"), [(50, 2), (20, 1000), (2, 2)])
    def test_few_instances_and_two_or_a_thousand_classes_work(self, recipe, n, c, problem):
        said = problem(n=n, c=c, rate=0.2 if c == 2 and n > 2 else 0).said
        npc = NPC(recipe, random_state=0, epochs=2).fit(said)
        assert is_distribution(npc.calibrate(said), (n, c))

    @pytest.mark.parametrize("recipe", RECIPES)
    def test_a_class_that_is_never_predicted_works(self, recipe, made):
        probs = np.column_stack([made.said.probs[:, 0] + made.said.probs[:, 2], made.said.probs[:, 1], np.zeros(300)])
        said = made.said.replace(probs=probs)
        assert 2 not in said.hard
        npc = NPC(recipe, random_state=0, epochs=2).fit(said)
        assert is_distribution(npc.calibrate(said), (300, 3))

    def test_a_class_the_classifier_never_names_is_found_from_the_labels(self, problem):
        made = problem(rate=0.1)
        only_two = np.where(made.noisy == 2, 0, made.noisy)
        npc = NPC(random_state=0, epochs=30).fit(made.said.replace(probs=0.05 + 0.85 * np.eye(3)[only_two]))
        assert (npc.predict(made.said)[made.truth == 2] == 2).mean() > 0.9

    @pytest.mark.parametrize("recipe", RECIPES)
    def test_features_of_zero_variance_work(self, recipe, made):
        constant = np.column_stack([made.x, np.full(300, 7.0)])
        npc = NPC(recipe, random_state=0, epochs=2).fit(made.said.replace(features=constant))
        assert is_distribution(npc.calibrate(made.said.replace(features=constant)), (300, 3))
        nothing = made.said.replace(features=np.zeros((300, 2)))
        assert is_distribution(NPC(recipe, random_state=0, epochs=2).fit(nothing).calibrate(nothing), (300, 3))

    @pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64, np.uint8])
    def test_other_dtypes_give_the_answer_of_float32(self, dtype, problem):
        rng = np.random.default_rng(0)
        truth = np.arange(80) % 2
        x = np.clip(rng.integers(0, 20, size=(80, 3)) + 60 * truth[:, None], 0, 255)
        probs = np.eye(2)[truth]
        answers = []
        for kind in (np.float32, dtype):
            said = Predictions(probs.astype(kind), x.astype(kind), labels=truth)
            answers.append(NPC(random_state=0, epochs=5).fit(said).calibrate(said))
        assert answers[1].dtype == np.float32
        np.testing.assert_array_equal(*answers)

    @pytest.mark.parametrize("recipe", RECIPES)
    def test_memory_mapped_arrays_give_the_same_answer(self, recipe, problem, tmp_path):
        made = problem(n=60)
        for name, array in {"x": made.x, "p": made.said.probs, "y": made.noisy}.items():
            np.save(tmp_path / f"{name}.npy", array)
        x, p, y = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "xpy")
        mapped = Predictions(p, x, labels=y)
        answers = [NPC(recipe, random_state=0, epochs=1).fit(said).calibrate(said) for said in (made.said, mapped)]
        np.testing.assert_array_equal(*answers)

    def test_without_labels_the_noise_in_the_predictions_is_undone(self, made):
        npc = NPC(random_state=0, epochs=30).fit(made.said.replace(labels=None))
        assert (npc.predict(made.said) == made.truth).mean() > 0.97
        assert npc.report_.agreement is None


class TestPaperRecipe:
    def test_it_reads_the_hidden_layer_where_there_is_one(self, made):
        rng = np.random.default_rng(0)
        said = made.said.replace(hidden=rng.normal(size=(300, 6)))
        npc = NPC("paper", random_state=0, epochs=1).fit(said)
        assert npc.reads_ == ["hidden"]
        moved = npc.calibrate(said.replace(hidden=said.hidden + 1)) - npc.calibrate(said)
        assert np.abs(moved).max() > 1e-3
        without_features = Predictions(said.probs, hidden=said.hidden)
        np.testing.assert_array_equal(npc.calibrate(without_features), npc.calibrate(said))

    def test_it_reads_the_features_where_there_is_none(self, paper):
        assert paper.reads_ == ["features"]
        assert paper.report_.k == {"hidden layer": min(10, paper.report_.references)}

    def test_the_default_recipe_never_reads_the_hidden_layer(self, made):
        said = made.said.replace(hidden=np.random.default_rng(0).normal(size=(300, 6)))
        npc = NPC(random_state=0, epochs=1).fit(said)
        np.testing.assert_array_equal(npc.calibrate(said), npc.calibrate(made.said))

    @pytest.mark.parametrize("shape", ["one-hot", "top-k", "shares"])
    def test_every_shape_of_the_prior_can_be_had(self, shape, problem):
        made = problem(n=100)
        npc = NPC("paper", shape=shape, random_state=0, epochs=2).fit(made.said)
        assert is_distribution(npc.calibrate(made.said), (100, 3))

    def test_shapes_samplers_and_strengths_make_a_difference(self, problem):
        said = problem(n=600, probs=np.random.default_rng(0).dirichlet(np.ones(3), 600)).said
        settings = [
            {},
            {"shape": "top-k"},
            {"shape": "shares"},
            {"sampler": "exact"},
            {"rho": 2.0},
            {"delta": 2.0},
            {"beta": 0.1},
            {"k": 3},
        ]
        answers = [
            NPC("paper", random_state=0, epochs=1, batch_size=60, **s).fit(said).calibrate(said) for s in settings
        ]
        for i in range(1, len(answers)):
            assert np.abs(answers[i] - answers[0]).max() > 1e-5, settings[i]

    def test_its_settings_are_the_papers(self, made, monkeypatch):
        seen = {}

        def spying(vae, source, predictions, shares, concentrations, **settings):
            seen.update(settings, concentrations=concentrations, link=vae.link)
            return [0.0]

        monkeypatch.setattr("truelabel.calibrators.npc.calibrator.train", spying)
        NPC("paper").fit(made.said)
        assert (seen["beta"], seen["epochs"], seen["batch_size"], seen["learning_rate"]) == (1, 10, 128, 1e-3)
        assert (seen["sampler"], seen["draw_predictions"], seen["link"]) == ("inverse-cdf", False, "softplus")
        assert (seen["concentrations"].shape, seen["concentrations"].rho) == ("one-hot", 5)
        assert seen["concentrations"].base == pytest.approx(1 + 1 / 3)


def small_cnn() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3)
    )


@pytest.fixture(scope="module")
def images(problem):
    made = problem(n=120, d=16)
    made.said = made.said.replace(inputs=made.x.reshape(-1, 1, 4, 4))
    return made


class TestNetworkMode:
    @pytest.mark.parametrize("recipe", RECIPES)
    def test_all_of_a_copy_is_trained_behind_a_fresh_last_layer(self, recipe, images):
        network = small_cnn()
        before = {name: value.clone() for name, value in network.state_dict().items()}
        network[0].weight.requires_grad_(False)
        npc = NPC(recipe, trunk=network, random_state=0, epochs=3).fit(images.said)
        for name, value in network.state_dict().items():
            assert torch.equal(value, before[name]), name
        assert network.training
        trained = npc.network_.trunk.state_dict()
        assert set(trained) == set(before)
        for name in before:
            assert not torch.equal(trained[name], before[name]), name
        # After so few steps the copied layers are still near the user's, and the last one is not.
        assert (trained["4.weight"] - before["4.weight"]).abs().max() < 0.1
        assert (trained["6.weight"] - before["6.weight"]).abs().max() > 0.2
        assert is_distribution(npc.calibrate(images.said), (120, 3))

    def test_it_reads_inputs_and_not_features(self, images):
        npc = NPC(trunk=small_cnn(), random_state=0, epochs=1).fit(images.said)
        only_inputs = Predictions(images.said.probs, inputs=images.said.inputs)
        np.testing.assert_array_equal(npc.calibrate(only_inputs), npc.calibrate(images.said))

    def test_the_papers_prior_votes_in_the_layer_before_the_last(self, images, monkeypatch):
        network = small_cnn()
        seen = {}

        def spying(self, given, believe=VotePrior.believe):
            seen["hidden"] = given.predictions.hidden
            return believe(self, given)

        monkeypatch.setattr(VotePrior, "believe", spying)
        NPC("paper", trunk=network, random_state=0, epochs=1).fit(images.said)
        network.eval()
        with torch.no_grad():
            expected = network[:6](torch.from_numpy(images.said.inputs))
        np.testing.assert_allclose(seen["hidden"], expected, atol=1e-5)

    def test_it_learns(self, images):
        mlp = nn.Sequential(nn.Flatten(), nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3))
        npc = NPC(trunk=mlp, random_state=0, epochs=80).fit(images.said)
        assert (npc.predict(images.said) == images.truth).mean() > 0.95

    def test_it_learns_where_there_is_no_noise(self, problem):
        made = problem(n=120, d=16, rate=0)
        mlp = nn.Sequential(nn.Flatten(), nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3))
        said = made.said.replace(inputs=made.x.reshape(-1, 1, 4, 4), labels=None)
        npc = NPC(trunk=mlp, random_state=0, epochs=80).fit(said)
        assert (npc.predict(said) == made.truth).mean() > 0.95

    def test_without_inputs_it_says_so(self, images, problem):
        with pytest.raises(ValueError, match=r"reads raw inputs; pass Predictions\(inputs"):
            NPC(trunk=small_cnn()).fit(problem(n=50).said)
        npc = NPC(trunk=small_cnn(), epochs=1).fit(images.said)
        with pytest.raises(ValueError, match=r"reads raw inputs; pass Predictions\(inputs"):
            npc.calibrate(Predictions(images.said.probs, images.x))

    def test_inputs_of_another_shape_are_refused(self, images):
        npc = NPC(trunk=small_cnn(), epochs=1).fit(images.said)
        other = images.said._with(inputs=images.said.inputs[:, :, :-1])
        with pytest.raises(ValueError, match=r"inputs have shape .*, but the calibrator was fitted on"):
            npc.calibrate(other)

    def test_a_trunk_that_is_no_network_is_refused(self, images):
        with pytest.raises(ValueError, match="no linear layer inside a larger module"):
            NPC(trunk=nn.Linear(16, 3)).fit(images.said)


class TestMistakes:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"recipe": "papre"}, "recipe must be one of default, paper, not 'papre'"),
            ({"sampler": "gumbel"}, "sampler must be one of exact, inverse-cdf, not 'gumbel'"),
            ({"shape": "flat"}, 'shape must be "one-hot", "top-k" or "shares", not \'flat\''),
            ({"k": 300}, r"k must be at least 1 and below the number of instances \(300\), not 300"),
            ({"k": 0}, "k must be at least 1"),
            ({"recipe": "paper", "k": 301}, "below the number of instances"),
            ({"rho": 0}, "rho must be above 0, not 0"),
            ({"rho": float("nan")}, "rho must be above 0, not nan"),
            ({"delta": -1}, "delta must be above 0"),
            ({"beta": -1}, "beta must be above 0"),
            ({"learning_rate": 0}, "learning_rate must be above 0"),
            ({"top_k": 0}, "top_k must be at least 1"),
            ({"epochs": 0}, "epochs must be at least 1"),
            ({"batch_size": 0}, "batch_size must be at least 1"),
            ({"progress": "loud"}, 'progress must be True, False or "auto"'),
        ],
    )
    def test_a_bad_parameter_is_named(self, parameters, message, made):
        with pytest.raises(ValueError, match=message):
            NPC(**parameters).fit(made.said)

    def test_one_class_of_labels_is_not_enough(self, made):
        with pytest.raises(ValueError, match=r"labels holds one class only \(class 1\)"):
            NPC().fit(made.said.replace(labels=np.ones(300, dtype=int)))

    def test_one_instance_is_not_enough(self, made):
        with pytest.raises(ValueError, match="one instance is not enough"):
            NPC().fit(made.said[:1])

    def test_arrays_have_to_be_wrapped(self, npc, made):
        with pytest.raises(TypeError, match=r"fit takes a truelabel\.Predictions, not ndarray"):
            NPC().fit(made.x)
        with pytest.raises(TypeError, match=r"a truelabel\.Predictions is needed, not ndarray"):
            npc.calibrate(made.x)

    def test_features_are_needed(self, made):
        with pytest.raises(ValueError, match="needs features that did not see the noisy labels"):
            NPC().fit(Predictions(made.said.probs, labels=made.noisy))
        with pytest.raises(ValueError, match="needs the classifier's hidden layer"):
            NPC("paper").fit(Predictions(made.said.probs, labels=made.noisy))

    @pytest.mark.parametrize("ask", ["calibrate", "predict", "posterior", "corrections", "transition", "save"])
    def test_nothing_can_be_asked_before_fitting(self, ask, made, tmp_path):
        with pytest.raises(NotFittedError, match="this NPC is not fitted yet; call fit first"):
            list(getattr(NPC(), ask)(tmp_path / "npc.safetensors" if ask == "save" else made.said))

    @pytest.mark.parametrize("ask", ["calibrate", "predict", "posterior", "corrections", "transition"])
    def test_what_is_asked_about_has_to_look_like_what_was_fitted(self, ask, npc, made):
        def answer(said: Predictions) -> None:
            found = getattr(npc, ask)(said)
            if ask == "transition":
                next(found)

        with pytest.raises(ValueError, match="features has 3 columns, but the calibrator was fitted on 4"):
            answer(made.said.replace(features=made.x[:, :3]))
        with pytest.raises(ValueError, match="probs has 2 classes, but the calibrator was fitted on 3"):
            answer(Predictions(np.full((5, 2), 0.5), made.x[:5]))
        with pytest.raises(ValueError, match="fitted on the view 'features', which is missing"):
            answer(made.said.replace(features={"pixels": made.x}))

    def test_the_hidden_layer_has_to_be_the_same(self, made):
        said = made.said.replace(hidden=made.x)
        npc = NPC("paper", epochs=1).fit(said)
        with pytest.raises(ValueError, match="hidden has 2 columns, but the calibrator was fitted on 4"):
            npc.calibrate(said.replace(hidden=made.x[:, :2]))
        with pytest.raises(ValueError, match=r"fitted on the hidden layer; pass Predictions\(hidden"):
            npc.calibrate(made.said)

    def test_a_view_that_the_prior_left_out_need_not_be_given_again(self, made):
        class OneView:
            def believe(self, given):
                scale = Scale("whole", *moments(given.predictions.views["signal"]))
                return Belief(np.eye(3, dtype=np.float32)[made.truth], scales={"signal": scale})

        noise = np.random.default_rng(0).normal(size=(300, 5))
        npc = NPC(prior=OneView(), epochs=1).fit(made.said.replace(features={"noise": noise, "signal": made.x}))
        assert npc.reads_ == ["signal"]
        assert is_distribution(npc.calibrate(made.said.replace(features={"signal": made.x})), (300, 3))


class TestWhatTheNoiseIsKnownFrom:
    """The report says whether anything proves how many labels are wrong."""

    @pytest.mark.parametrize("evidence", ["given", "checked labels", "its form", "the surest instances"])
    def test_it_says_in_words_where_nothing_does(self, evidence):
        report = Report("default", 100, 3, 5.0, 0.1, 0.1, noise_rate=0.2, noise_evidence=evidence)
        assert ("check a hundred labels" in str(report)) == (evidence == "the surest instances")

    def test_checked_and_given_noise_is_known(self, made):
        npc = partial(NPC, random_state=0, epochs=1, progress=False)
        trusted = np.where(np.arange(300) < 50, made.truth, -1)
        assert npc().fit(made.said, trusted=trusted).report_.noise_evidence == "checked labels"
        even = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
        assert npc(label_transition=even).fit(made.said).report_.noise_evidence == "given"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"rho": float("inf")}, "rho must be a finite number, not inf"),
        ({"rho": float("nan")}, "rho must be above 0, not nan"),
        ({"rho": "5"}, "rho must be a finite number, not '5'"),
        ({"top_k": 1.5}, r"top_k must be a whole number, not 1\.5"),
        ({"epochs": "2"}, "epochs must be a whole number"),
        ({"k": 2.5}, "k must be at least 1"),
    ],
)
def test_parameters_of_the_wrong_kind_are_refused(problem, settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        NPC(**settings).fit(problem().said)
