"""How tests/data/surrogate_format_1.gb was made, once; kept to show what it holds. Never run it again for format 1."""

from pathlib import Path

import numpy as np
import pandas as pd

from genbayes import QuantileSurrogate

HERE = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"mach": rng.uniform(0.2, 6.0, 80), "gas": rng.choice(["He", "O2"], 80)})
    y = np.exp(0.3 * X["mach"]) * (1 + 0.2 * (X["gas"] == "O2")) + rng.gamma(2.0, 0.1, 80)
    model = QuantileSurrogate(
        categorical=["gas"], y_bounds=(0.0, None), n_members=3, prior_scale=0.5, n_hidden=8, n_epochs=60, random_state=0
    ).fit(X, y)
    model.save(HERE / "surrogate_format_1.gb")
    at = pd.DataFrame({"mach": [0.5, 2.0], "gas": ["He", "O2"]})
    np.savetxt(HERE / "surrogate_format_1.csv", model.predict_quantiles(at, [0.05, 0.5, 0.95]), delimiter=",")


if __name__ == "__main__":
    main()
