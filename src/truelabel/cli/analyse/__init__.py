"""`truelabel analyse …`: the analyses of the paper, one file a command."""

import typer

from truelabel.cli.analyse.confusion import confusion
from truelabel.cli.analyse.embedding import embedding
from truelabel.cli.analyse.gains import gains
from truelabel.cli.analyse.gradcam import gradcam
from truelabel.cli.analyse.priors import priors
from truelabel.cli.analyse.repeat import repeat
from truelabel.cli.analyse.significance import significance
from truelabel.cli.analyse.suspicious import suspicious
from truelabel.cli.analyse.transitions import transitions

COMMANDS = (confusion, embedding, gains, gradcam, priors, repeat, significance, suspicious, transitions)

analyse = typer.Typer(
    name="analyse",
    help="Look into what a classifier and its calibrator did: numbers, and a figure beside each.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
for _command in COMMANDS:
    analyse.command(_command.__name__)(_command)
