"""Writes docs/api.md from the code: every public name, its arguments, its first line, and where to read more.

Public is what a folder re-exports in `__all__`. Run `python docs/build_api.py` after changing a public name, argument
or first line; tests/docs compares the page with what the code says.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import genbayes

__all__ = ["build"]

PAGE = Path(__file__).with_name("api.md")
NO_API = {"cli", "gp", "models", "optimise", "tabular"}  # the first has a page of its own; models and
# campaigns stand on the others


@dataclass(frozen=True)
class Section:
    """One folder of the package: for whom it is, and which page explains it; some names have another.

    The methods of `like`, a class of the same interface described before, are not told again.
    """

    folder: str
    about: str
    page: str
    pages: dict[str, str]
    like: type | None = None


REPORT = "quickstart.md#one-command"
DATA, FILES, LOSS = "concepts/data.md", "concepts/files.md", "concepts/loss.md"
LAW, NETWORK, SCORES = "concepts/distribution.md", "concepts/quantile-network.md", "concepts/scores.md"
CHOOSING, DIAGNOSTICS, TRAINING = "concepts/choosing.md", "concepts/diagnostics.md", "concepts/training.md"
SECTIONS = [
    Section(
        "surrogate",
        "Models to fit.",
        "quickstart.md",
        {"GPInformedSurrogate": f"{CHOOSING}#a-network-on-what-a-gp-leaves"},
    ),
    Section("selection", "The surrogate that chooses for you.", CHOOSING, {}, like=genbayes.QuantileSurrogate),
    Section(
        "baselines",
        "The competitors, with the methods of [QuantileSurrogate](#quantilesurrogate); only further ones are listed.",
        "baselines/index.md",
        {
            "BoostedQuantiles": "baselines/boosted-quantiles.md",
            "DeepGP": "baselines/deep-gp.md",
            "HeteroskedasticGP": "baselines/heteroskedastic-gp.md",
            "ModularJumpGP": "baselines/modular-jump-gp.md",
            "RegimeGP": "baselines/regime-gp.md",
            "SparseGP": "baselines/sparse-gp.md",
            "StationaryGP": "baselines/stationary-gp.md",
        },
        like=genbayes.QuantileSurrogate,
    ),
    Section("models.registry", "The one list of models.", "adding/baseline.md", {"load": FILES}),
    Section("models.protocols", "What only some models can do.", "adding/baseline.md", {}),
    Section("distribution", "What models return.", LAW, {"Predictor": "quickstart.md"}),
    Section(
        "calibration",
        "Coverage that is promised for finite samples, and checks of laws that promise none.",
        DIAGNOSTICS,
        {"ConformalSurrogate": "concepts/calibration.md"},
    ),
    Section(
        "metrics",
        "Scores from arrays.",
        SCORES,
        {"pit": f"{SCORES}#pit"}
        | dict.fromkeys(["count_band", "count_bins", "pit_shares", "share_band", "share_p_value"], DIAGNOSTICS),
    ),
    Section(
        "analysis",
        "What people do with a fitted model.",
        SCORES,
        dict.fromkeys(["MainEffect", "Slice", "main_effects", "slice_inputs"], REPORT),
    ),
    Section("reports", "Pages to read and to send.", REPORT, {}),
    Section(
        "design",
        "Campaigns: which runs to make next, and what they gave.",
        "concepts/campaigns.md",
        {},
    ),
    Section(
        "data",
        "Tables of runs, and the space of a simulator's inputs.",
        DATA,
        dict.fromkeys(["Box", "Choice", "Integer", "Linear", "Log"], "concepts/campaigns.md#inputs"),
    ),
    Section(
        "plotting",
        "Pictures from arrays, each on the Matplotlib axis it is given or on a new one.",
        REPORT,
        dict.fromkeys(["plot_calibration", "plot_decomposition", "plot_pit", "plot_reliability"], DIAGNOSTICS)
        | dict.fromkeys(["plot_fan", "plot_fan_by_category"], LAW)
        | {"plot_scores": CHOOSING, "plot_training": TRAINING},
    ),
    Section("errors", "What is raised, and what is warned of.", f"{DATA}#what-is-refused", {}),
    Section(
        "features",
        "Feature maps, and the rule for loss weights.",
        "adding/feature-map.md",
        dict.fromkeys(["Bimodality", "measure_bimodality"], f"{LOSS}#which-weights"),
    ),
    Section(
        "network",
        "The network and its loss, for those who build on them.",
        NETWORK,
        dict.fromkeys(
            [
                "DEFAULT",
                "QUANTILE_DOMINANT",
                "LossWeights",
                "three_term_loss",
                "trained_level",
                "unbiased_loss",
            ],
            LOSS,
        )
        | {"PriorIQN": "concepts/ensembles.md#randomized-priors", "fit_iqn": TRAINING},
    ),
    Section("training", "The training loop, which knows no model.", TRAINING, {}),
    Section("persistence", "Files of fitted models.", FILES, {}),
]
NOTES = {  # public values that have no docstring
    "DEFAULT": "The paper's default loss weights, 0.3, 0.3 and 0.4.",
    "QUANTILE_DOMINANT": "The paper's weights for responses that jump, 0.1, 0.2 and 0.7.",
    "FORMAT_VERSION": "The format of model files that this version writes.",
    "Of": "What is asked about: a new run, or the mean E[y | x].",
    "Report": "What hears of progress: a function of step, number of steps and loss.",
    "Restore": "What rebuilds a fitted object from its state.",
    "__version__": "The version of the package.",
}

HEAD = """# API reference

Every public name, with its arguments and one line; the link leads to the page that explains it. Shapes, formulas and
examples are in the docstrings: `help(genbayes.QuantileSurrogate)`. Written by `docs/build_api.py`; do not edit.
"""


def build() -> str:
    """The whole page."""
    _check_complete()
    parts = [HEAD, _top_level()]
    parts += [_section(section) for section in SECTIONS]
    return "\n".join(parts)


def _check_complete() -> None:
    """Every folder that has public names must have a section."""
    folders = {info.name for info in pkgutil.iter_modules(genbayes.__path__) if info.ispkg}
    missing = folders - {section.folder for section in SECTIONS} - NO_API
    assert not missing, f"SECTIONS must describe every folder, got none for {sorted(missing)}"


def _top_level() -> str:
    rows = []
    for name in genbayes.__all__:
        value = getattr(genbayes, name)
        home = getattr(value, "__module__", "").split(".")[1:2]
        section = next((part for part in SECTIONS if part.folder.split(".")[0] in home), None)
        place = f"[genbayes.{section.folder}](#{_anchor(section.folder)})" if section else f"[files]({FILES})"
        rows.append(
            [
                _call(name, value) if name in ("load", "register_model", "registered_models") else f"`{name}`",
                _first_line(name, value),
                place,
            ]
        )
    rows[[row[0] for row in rows].index("`__version__`")][2] = ""
    about = "What most people need; `genbayes.metrics` comes along, the other folders are imported by name."
    return f"## genbayes\n{about}\n\n{_table(['name', 'what it is', 'described in'], rows)}"


def _section(section: Section) -> str:
    module = import_module(f"genbayes.{section.folder}")
    title = f"## genbayes.{section.folder}\n{section.about} `from genbayes.{section.folder} import ...`\n"
    if section.folder == "errors":
        return f"{title}\n{_errors(module)}"
    rows = []
    for name in module.__all__:
        page = section.pages.get(name, section.page)
        rows.append([_call(name, getattr(module, name)), _first_line(name, getattr(module, name)), _link(page)])
    parts = [title, _table(["name", "what it does", "more"], rows)]
    told = set(dir(section.like)) if section.like else set()
    classes = [name for name in module.__all__ if inspect.isclass(getattr(module, name))]
    parts += [_class(name, getattr(module, name), told) for name in classes]
    return "\n".join(part for part in parts if part)


def _class(name: str, value: type, told: set[str]) -> str:
    """Arguments or attributes of a class and those methods not told elsewhere; nothing for one without any."""
    parts = []
    if "Args:" in (value.__doc__ or ""):
        rows = [[f"`{arg}`", _default(value, arg), text] for arg, text in _entries(value, "Args")]
        parts.append(_table(["argument", "default", "meaning"], rows))
    if "Attributes:" in (value.__doc__ or ""):
        parts.append(_table(["attribute", "meaning"], [[f"`{name}`", text] for name, text in _entries(value)]))
    methods = [[_call(method, body), _first_line(method, body)] for method, body in _methods(value, told)]
    if methods:
        parts.append(_table(["method", "what it does"], methods))
    return f"### {name}\n" + "\n".join(parts) if parts else ""


def _methods(value: type, told: set[str]) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that our classes define, without those of a base described in the same folder.

    Nor those told elsewhere, nor what is learnt in a fit, which is among the attributes.
    """
    ours = [cls for cls in value.__mro__ if cls.__module__.startswith("genbayes")]
    folder = value.__module__.split(".")[1]
    described = {attribute for base in ours[1:] if base.__module__.split(".")[1] == folder for attribute in vars(base)}
    described |= told
    seen: set[str] = set()
    for cls in ours:
        for name, body in vars(cls).items():
            if name.startswith("_") or name.endswith("_") or name in seen | described:
                continue
            if inspect.isfunction(body) or isinstance(body, (classmethod, property)):
                seen.add(name)
                yield name, body


def _errors(module: Any) -> str:
    rows = []
    for name in module.__all__:
        error = getattr(module, name)
        also = ", ".join(f"`{base.__name__}`" for base in error.__bases__)
        rows.append([f"`{name}`", _first_line(name, error), also])
    return _table(["name", "when", "is also"], rows)


def _call(name: str, value: Any) -> str:
    """A name as one would call it: arguments and defaults, no types."""
    bound = {"self"}
    if isinstance(value, classmethod):
        value, bound = value.__func__, {"cls"}
    if not (inspect.isfunction(value) or (inspect.isclass(value) and not _is_read(value))):
        return f"`{name}`"
    parameters = [
        part.replace(annotation=inspect.Parameter.empty, default=_plain(part.default))
        for part in inspect.signature(value).parameters.values()
        if part.name not in bound
    ]
    call = str(inspect.Signature(parameters))
    if inspect.isclass(value) and len(call) > 100:
        call = "(...)"  # a table of the arguments follows
    return f"`{name}{call}`".replace("|", "\\|")


def _is_read(value: type) -> bool:
    """Whether users read such objects rather than make them: abstract classes, and those described by attributes."""
    text = value.__doc__ or ""
    return inspect.isabstract(value) or ("Args:" not in text and ("Attributes:" in text or not is_dataclass(value)))


def _plain(default: Any) -> Any:
    return (
        default
        if default is inspect.Parameter.empty or isinstance(default, (int, float, str, tuple))
        else _Shown(default)
    )


class _Shown:
    """A default that a signature shows as `None` or, where it is made anew, as three dots."""

    def __init__(self, default: Any) -> None:
        self.text = "None" if default is None else "..."

    def __repr__(self) -> str:
        return self.text


def _default(value: type, argument: str) -> str:
    default = inspect.signature(value).parameters[argument].default
    return "" if default is inspect.Parameter.empty else f"`{default!r}`"


def _entries(value: type, heading: str = "Attributes") -> Iterator[tuple[str, str]]:
    """Names and meanings in one section of a docstring."""
    text = inspect.cleandoc(value.__doc__ or "").partition(f"{heading}:\n")[2]
    block = re.split(r"\n(?=\S)", text)[0]
    for entry in re.split(r"\n(?=    \S)", "\n" + block):
        name, _, meaning = entry.strip().partition(": ")
        if meaning:
            yield name, _cell(meaning)


def _first_line(name: str, value: Any) -> str:
    note = NOTES.get(name)
    if note:
        return note
    text = value.fget.__doc__ if isinstance(value, property) else getattr(value, "__doc__", None)
    assert text, f"{name} must have a docstring or a line in NOTES"
    return _cell(inspect.cleandoc(text).split("\n\n")[0])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _link(page: str) -> str:
    title = Path(page.partition("#")[0]).stem.replace("-", " ").replace("gp", "GP")
    return f"[{title}]({page})"


def _anchor(folder: str) -> str:
    return f"genbayes{folder}".replace(".", "")


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(build(), encoding="utf-8")
