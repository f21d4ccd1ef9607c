"""Does pooling five networks help on smooth data and hurt on jumps (paper sections 5.2 and 6.2)?"""

from __future__ import annotations

from functools import partial

import numpy as np

from genbayes import QuantileSurrogate
from genbayes.models.regimes import measure_bimodality
from genbayes_bench.problems import Split, draw_bgp, draw_friedman, draw_phantom, draw_star, split_motorcycle
from genbayes_bench.studies.ablations.ablation import Ablation, Size, score_law

__all__ = ["ENSEMBLES"]

N_EPOCHS = 5_000  # of the paper's motorcycle rows


def fit_and_score(n_members: int, split: Split, seed: int, size: Size) -> dict[str, float]:
    """So many of the paper's networks, pooled; loss weights by the paper's rule."""
    bimodal = measure_bimodality(split.y_train, np.ones(len(split.y_train))).is_bimodal
    model = QuantileSurrogate(
        recipe="paper",
        weights="quantile-dominant" if bimodal else "default",
        n_members=n_members,
        n_epochs=size.epochs(N_EPOCHS),
        random_state=seed,
    )
    model.fit(split.X_train, split.y_train)
    return score_law(model.predict_distribution(split.X_test), split)


ENSEMBLES = Ablation(
    title="One network or five, on smooth data and on jumps",
    problems={
        "motorcycle": split_motorcycle,
        "friedman": draw_friedman,
        "bgp2": partial(draw_bgp, 2),
        "phantom": draw_phantom,
        "star": draw_star,
    },
    variants={"one": partial(fit_and_score, 1), "five": partial(fit_and_score, 5)},
    paper={
        ("motorcycle", "one"): "12.56 ± 0.29",
        ("motorcycle", "five"): "12.49 ± 0.29",
        ("phantom", "five"): "worse than one",
    },
    note=(
        "The first of five starts as the one network does and draws the same levels. Motorcycle and Friedman are "
        "smooth, BGP, Phantom and Star jump. The paper gives no numbers for jumps; it says that ensembling hurts there."
    ),
)
