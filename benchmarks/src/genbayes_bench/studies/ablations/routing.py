"""Can a gate find the boundary by itself? Mixtures of experts, routed softly and hard, beside one network."""

from __future__ import annotations

from functools import partial

from genbayes import QuantileSurrogate
from genbayes_bench.problems import Split, draw_phantom, draw_star
from genbayes_bench.studies.ablations.ablation import Ablation, Size, score_law
from genbayes_bench.studies.ablations.experts import ExpertsIQN

__all__ = ["ROUTING"]

N_EPOCHS = 6_000
EXPERTS = (2, 4)


def one_network(split: Split, seed: int, size: Size) -> dict[str, float]:
    """The paper's single network."""
    settings = {"weights": "quantile-dominant", "n_epochs": size.epochs(N_EPOCHS), "random_state": seed}
    model = QuantileSurrogate(recipe="paper", **settings).fit(split.X_train, split.y_train)
    return score_law(model.predict_distribution(split.X_test), split)


def experts(n_experts: int, split: Split, seed: int, size: Size) -> dict[str, float]:
    """So many experts, trained once and routed both ways."""
    model = ExpertsIQN(n_experts, size.epochs(N_EPOCHS), seed=seed).fit(split.X_train, split.y_train)
    soft, hard = (score_law(model.predict_distribution(split.X_test, how), split) for how in ("soft", "hard"))
    return soft | {"crps_hard": hard["crps"], "specialisation": model.specialisation(split.X_test)}


ROUTING = Ablation(
    title="Mixtures of experts",
    problems={"phantom": draw_phantom, "star": draw_star},
    variants={"one network": one_network, **{f"{k} experts": partial(experts, k) for k in EXPERTS}},
    paper={
        ("phantom", "one network"): "0.031",
        ("phantom", "2 experts"): "0.036 to 0.039, routed hard above 0.59",
    },
    columns={"crps_hard": "CRPS, routed hard", "specialisation": "mean largest share of the gate"},
    note=(
        "CRPS, RMSE and coverage are of soft routing. The paper does not say how many experts it had; its gate's mean "
        "largest share was 0.64 to 0.71. An expert here is a complete network. Phantom and Star are formulas in place "
        "of the paper's data."
    ),
)
