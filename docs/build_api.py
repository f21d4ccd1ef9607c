"""Writes docs/api.md and the table of models in docs/models/index.md from the code.

Public is what a folder re-exports in `__all__`, and in a single file what it defines without an underscore. Run
`python docs/build_api.py` after changing a public name, argument or first line, or the registry; tests/docs compares
the pages with what the code says.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import genbayes
from genbayes.models.registry import OURS, Facts, RegisteredModel

__all__ = ["build", "build_models"]

PAGE = Path(__file__).with_name("api.md")
MODELS = Path(__file__).with_name("models") / "index.md"
TABLE = re.compile(r"(?<=<!-- written by docs/build_api.py -->\n).*?(?=<!-- end -->)", re.DOTALL)
NO_API = {"cli"}  # it has a page of its own


@dataclass(frozen=True)
class Section:
    """One folder of the package: for whom it is, and which page explains it; some names have another.

    The methods of `like`, a class of the same interface described before, are not described again.
    """

    folder: str
    about: str
    page: str
    pages: dict[str, str]
    like: type | None = None


REPORT = "quickstart.md#one-command"
DATA, FILES, LOSS = "concepts/data.md", "concepts/files.md", "concepts/loss.md"
DISTRIBUTION, NETWORK, SCORES = "concepts/distribution.md", "concepts/quantile-network.md", "concepts/scores.md"
CHOOSING, DIAGNOSTICS, TRAINING = "concepts/choosing.md", "concepts/diagnostics.md", "concepts/training.md"
CAMPAIGNS = "concepts/campaigns.md"
MODEL_PAGES = {
    "AutoSurrogate": CHOOSING,
    "BoostedQuantiles": "models/boosted-quantiles.md",
    "ConformalSurrogate": "concepts/calibration.md",
    "DeepGP": "models/deep-gp.md",
    "GPInformedSurrogate": f"{CHOOSING}#a-network-on-what-a-gp-leaves",
    "HeteroskedasticGP": "models/heteroskedastic-gp.md",
    "ModularJumpGP": "models/modular-jump-gp.md",
    "QuantileSurrogate": NETWORK,
    "RegimeGP": "models/regime-gp.md",
    "SparseGP": "models/sparse-gp.md",
    "StationaryGP": "models/stationary-gp.md",
}
SECTIONS = [
    Section(
        "models",
        "Models to fit, all with the methods of [QuantileSurrogate](#quantilesurrogate); only further ones are listed.",
        "models/index.md",
        MODEL_PAGES,
        like=genbayes.QuantileSurrogate,
    ),
    Section("auto", "The surrogate that chooses for you.", CHOOSING, {}, like=genbayes.QuantileSurrogate),
    Section(
        "conformal",
        "Coverage that is guaranteed for finite samples.",
        MODEL_PAGES["ConformalSurrogate"],
        {},
        like=genbayes.QuantileSurrogate,
    ),
    Section("models.loading", "From files to models and back.", FILES, {}),
    Section("models.registry", "The one list of models.", "adding/model.md", {}),
    Section("models.protocols", "What only some models can do.", "adding/model.md", {}),
    Section("distribution", "What models return.", DISTRIBUTION, {}),
    Section("diagnostics", "Is a model calibrated, and where does its CRPS come from?", DIAGNOSTICS, {}),
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
    Section(
        "inference",
        "The posterior of a simulator's parameters.",
        "concepts/inference.md",
        {},
    ),
    Section("report", "Pages to read and to send.", REPORT, {}),
    Section("design", "Which runs to make next.", "concepts/design.md", {}),
    Section("campaign", "Campaigns: runs to make, and what they gave, in a database.", CAMPAIGNS, {}),
    Section(
        "data",
        "Tables of runs, and the space of a simulator's inputs.",
        DATA,
        dict.fromkeys(["Box", "Choice", "Integer", "Linear", "Log"], f"{CAMPAIGNS}#inputs"),
    ),
    Section(
        "plotting",
        "Pictures from arrays, each on the Matplotlib axis it is given or on a new one.",
        REPORT,
        dict.fromkeys(["plot_calibration", "plot_decomposition", "plot_pit", "plot_reliability"], DIAGNOSTICS)
        | dict.fromkeys(["plot_fan", "plot_fan_by_category"], DISTRIBUTION)
        | dict.fromkeys(["plot_corner", "plot_predictive", "plot_ranks"], "concepts/inference.md")
        | {"plot_scores": CHOOSING, "plot_training": TRAINING},
    ),
    Section("errors", "What is raised, and what is warned of.", f"{DATA}#what-is-refused", {}),
    Section(
        "models.regimes",
        "Feature maps, and the rule for loss weights.",
        "adding/feature-map.md",
        dict.fromkeys(["Bimodality", "measure_bimodality"], f"{LOSS}#which-weights"),
    ),
    Section(
        "models.network",
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
    "FOREIGN": "What messages say of a file that holds what no fit gives.",
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
    """The whole API page."""
    _check_complete()
    parts = [HEAD, _top_level()]
    parts += [_section(section) for section in SECTIONS]
    return "\n".join(parts)


def build_models(page: str) -> str:
    """The page of models with its table as the registry is."""
    rows = []
    for model in OURS:
        if model.disk_name not in MODEL_PAGES:
            sys.exit(
                f"{model.disk_name} must have a page, got none; write it in docs/models and name it in MODEL_PAGES"
            )
        link = _relative(MODEL_PAGES[model.disk_name])
        rows.append([f"`{model.name}`", f"[{model.title}]({link})", model.assumes, model.suits, _tried(model)])
    head = ["name", "model", "what it assumes", "when to choose it", "tried by `auto`"]
    return TABLE.sub(lambda _: _table(head, rows), page)


def _tried(model: RegisteredModel) -> str:
    """When AutoSurrogate tries a model unasked, in words; limits of one or two digits and zeros are found exactly."""
    worth = model.worth_trying or (lambda facts: False)
    limits = [digits * 10**power for power in range(5) for digits in range(10, 100)]
    sizes = [n for limit in limits for n in (limit, limit + 1)]
    one_regime, regimes = ([n for n in sizes if worth(Facts(n=n, n_regimes=k))] for k in (1, 2))
    tried = one_regime or regimes
    if not tried:
        return "if named"
    first, last = tried[0], tried[-1]
    words = (
        [] if first == sizes[0] else [f"from {first:,} runs on" if first in limits else f"beyond {first - 1:,} runs"]
    )
    words += [] if last == sizes[-1] else [f"to {last:,} runs"]
    if one_regime != regimes:
        words.append("more if y has several peaks" if one_regime else "if y has several peaks")
    if found := {"regimes": "finds regimes", "uneven": "leaves uneven noise"}.get(model.asks):
        words.insert(0, f"if `{model.refines}` {found}")
    elif model.asks == "shape":
        words.insert(0, f"unless `{model.refines}` leaves even, normal noise")
    return ", ".join(words) or "always"


def _check_complete() -> None:
    """Every folder that has public names must have a section."""
    folders = {info.name for info in pkgutil.iter_modules(genbayes.__path__) if info.ispkg}
    missing = folders - {section.folder for section in SECTIONS} - NO_API
    assert not missing, f"SECTIONS must describe every folder, got none for {sorted(missing)}"


def _public(folder: str) -> dict[str, Any]:
    """Public names of a folder, or of a file, with what they are."""
    module = import_module(f"genbayes.{folder}")
    defined = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    return {name: getattr(module, name) for name in getattr(module, "__all__", sorted(defined))}


def _home(name: str) -> str:
    """The first folder of SECTIONS that has a name."""
    return next((section.folder for section in SECTIONS if name in _public(section.folder)), "")


def _top_level() -> str:
    rows = []
    for name in genbayes.__all__:
        value, home = getattr(genbayes, name), _home(name)
        place = f"[genbayes.{home}](#{_anchor(home)})" if home else ""
        rows.append([_call(name, value) if inspect.isfunction(value) else f"`{name}`", _first_line(name, value), place])
    about = "What most people need; `genbayes.metrics` comes along, the other folders are imported by name."
    return f"## genbayes\n{about}\n\n{_table(['name', 'what it is', 'described in'], rows)}"


def _section(section: Section) -> str:
    public = _public(section.folder)
    title = f"## genbayes.{section.folder}\n{section.about} `from genbayes.{section.folder} import ...`\n"
    if section.folder == "errors":
        return f"{title}\n{_errors(public)}"
    rows = [
        [_call(name, value), _first_line(name, value), _link(section.pages.get(name, section.page))]
        for name, value in public.items()
    ]
    parts = [title, _table(["name", "what it does", "more"], rows)]
    classes = {name: value for name, value in public.items() if inspect.isclass(value)}
    for name, value in classes.items():
        if _home(name) != section.folder:
            continue  # described above
        bases = {base for base in value.__mro__[1:] if base in classes.values()}
        bases |= {section.like} if section.like and value is not section.like else set()
        parts.append(_class(name, value, {attribute for base in bases for attribute in dir(base)}))
    return "\n".join(part for part in parts if part)


def _class(name: str, value: type, described: set[str]) -> str:
    """Arguments or attributes of a class and its methods that are not described elsewhere."""
    parts = []
    if "Args:" in (value.__doc__ or ""):
        rows = [[f"`{arg}`", _default(value, arg), text] for arg, text in _entries(value, "Args")]
        parts.append(_table(["argument", "default", "meaning"], rows))
    if "Attributes:" in (value.__doc__ or ""):
        parts.append(_table(["attribute", "meaning"], [[f"`{name}`", text] for name, text in _entries(value)]))
    methods = [[_call(method, body), _first_line(method, body)] for method, body in _methods(value, described)]
    if methods:
        parts.append(_table(["method", "what it does"], methods))
    return f"### {name}\n" + "\n".join(parts) if parts else ""


def _methods(value: type, described: set[str]) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that our classes define; what is learnt in a fit is among the attributes."""
    seen: set[str] = set()
    for cls in (cls for cls in value.__mro__ if cls.__module__.startswith("genbayes")):
        for name, body in vars(cls).items():
            if name.startswith("_") or name.endswith("_") or name in seen | described:
                continue
            if inspect.isfunction(body) or isinstance(body, (classmethod, property)):
                seen.add(name)
                yield name, body


def _errors(public: dict[str, Any]) -> str:
    rows = []
    for name, error in public.items():
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


def _relative(page: str) -> str:
    """A page of docs as docs/models/index.md links to it."""
    return page.removeprefix("models/") if page.startswith("models/") else f"../{page}"


def _anchor(folder: str) -> str:
    return f"genbayes{folder}".replace(".", "")


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(build(), encoding="utf-8")
    MODELS.write_text(build_models(MODELS.read_text(encoding="utf-8")), encoding="utf-8")
