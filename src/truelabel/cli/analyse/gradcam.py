"""`truelabel analyse gradcam`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from truelabel.arrays import Floats, Ints
from truelabel.cli.analyse import reading
from truelabel.cli.analyse.writing import FOLDER, AsJson, Out, Title, show
from truelabel.writing import whole

if TYPE_CHECKING:
    from torch import nn

    from truelabel.calibrators import NPC
    from truelabel.methods import Trained
    from truelabel.predictions import Predictions

OF = ("label", "prediction", "calibrated")


def gradcam(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Folders that truelabel train wrote on the same dataset, as of ce and causalnl."),
    ],
    calibrator: Annotated[
        list[Path] | None, typer.Option(help="A calibrator of the first run's classifier; repeat the option.")
    ] = None,
    row: Annotated[
        list[int] | None, typer.Option(help="A row of the test set; repeat it. The first of each class if not given.")
    ] = None,
    of: Annotated[str, typer.Option(help="The class to explain: label, prediction or calibrated.")] = "label",
    layer: Annotated[
        str | None, typer.Option(help="Layer of the networks; after the last convolution if not given.")
    ] = None,
    root: Annotated[Path | None, typer.Option(help="Folder with the dataset.")] = None,
    title: Title = None,
    out: Out = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Show by Grad-CAM on which part of test images a class probability rests: p(ŷ|x) and the calibrated p(y|x).

    The calibrated probability is differentiated through classifier and calibrator. A calibrator on label-free features
    is shown with these held constant: they do not pass through the classifier's layer, so the map shows what reaches
    p(y|x) through the classifier. One on the hidden layer (recipe paper) is differentiated all the way. OUT also gets
    gradcam.npz, the maps.

    Example: truelabel analyse gradcam run causalnl --calibrator run/npc.safetensors --root DATA --out figures
    """
    from truelabel import analysis
    from truelabel.methods import Trained

    if of not in OF:
        raise ValueError(f"--of must be one of {', '.join(OF)}, not {of!r}.")
    data = runs[0] / "test.parquet"
    trained = [Trained.load(run) for run in runs]
    said, split = reading.predictions(data), reading.run_split(data, root)
    if len(split) != len(said):
        raise ValueError(f"{data} has {len(said)} instances, but the dataset {len(split)}; is --root the right one?")
    npcs = [reading.calibrator(path) for path in calibrator or []]
    if of == "calibrated" and not npcs:
        raise ValueError("--of calibrated needs a --calibrator, whose classes are explained.")
    rows = _rows(row, split.labels, len(said))
    images, chosen = np.asarray(split.inputs[rows]), said[rows]
    if images.ndim != 4:
        raise ValueError(f"the inputs of {runs[0]} have shape {images.shape[1:]} and are not images.")
    for run, model in zip(runs, trained, strict=True):
        if model.predict_proba(images[:1]).shape[1] != said.n_classes:
            raise ValueError(f"{run} was trained on other classes than {runs[0]}; name runs on one dataset.")
    calibrated = [npc.predict(chosen) for npc in npcs]
    classes = {"label": split.labels[rows], "prediction": chosen.hard}.get(of)
    classes = calibrated[0] if classes is None else classes
    maps = _maps(trained, npcs, chosen, images, classes, layer)
    names = reading.titles(said)
    figure = analysis.draw_grad_cams(images, maps, [names[k] for k in classes], title or reading.about(data))
    out.mkdir(parents=True, exist_ok=True)
    models = [name.replace("\n", " ") for name in maps]
    stacked = np.stack([*maps.values()])
    with whole(out / "gradcam.npz") as partial:
        np.savez_compressed(partial, rows=rows, classes=classes, models=np.array(models), maps=stacked)
    spreads = {name: analysis.spread(found) for name, found in zip(models, stacked, strict=True)}
    numbers: dict[str, Any] = {
        "rows": rows.tolist(),
        "classes": [names[k] for k in classes],
        "spread": {name: [round(float(share), 4) for share in found] for name, found in spreads.items()},
        "features": {name: _features(npc) for name, npc in zip([*spreads][1:], npcs, strict=False)},
    }
    table = [["share of the image above half the map's maximum", "mean"]]
    table += [[name, f"{found.mean():.1%}"] for name, found in spreads.items()]
    notes = [f"{name}: features {words}." for name, words in numbers["features"].items()]
    show(out, "gradcam", figure, numbers, as_json=as_json, table=table, notes=[*notes, f"Maps: {out / 'gradcam.npz'}"])


def _maps(
    trained: list[Trained], npcs: list[NPC], chosen: Predictions, images: Any, classes: Ints, layer: str | None
) -> dict[str, Floats]:
    """Return maps by name: of the first run's classifier, of the calibrators on it, of the other runs' classifiers."""
    from truelabel import analysis

    first, *others = trained
    modules: list[tuple[str, nn.Module]] = [(first.method["name"], analysis.LogProbabilities(first.network))]
    for npc in npcs:
        held = None
        if npc.reads_ not in (["hidden"], ["inputs"]):
            held = np.concatenate([np.asarray(chosen.views[view], np.float32) for view in npc.reads_], axis=1)
        name = "NPC" if npc.recipe == "default" else f"NPC,\n{npc.recipe}"
        modules.append((name, analysis.CalibratedLogProbabilities(first.network, npc, features=held)))
    modules += [(other.method["name"], analysis.LogProbabilities(other.network)) for other in others]
    found: dict[str, Floats] = {}
    for name, module in modules:
        where = layer or analysis.last_maps(module.get_submodule("network"), images)
        found[name if name not in found else f"{name} {len(found)}"] = analysis.grad_cam(
            module, f"network.{where}", images, classes
        )
    return found


def _features(npc: NPC) -> str:
    return "computed from the image" if npc.reads_ in (["hidden"], ["inputs"]) else "held constant"


def _rows(given: list[int] | None, labels: Ints, n: int) -> Ints:
    if given is None:
        return np.unique(labels, return_index=True)[1]
    wrong = [number for number in given if not 0 <= number < n]
    if wrong:
        raise ValueError(f"--row {wrong[0]} is not a row of the test set, which has rows 0 to {n - 1}.")
    return np.array(given)
