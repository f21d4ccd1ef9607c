"""Ensembles that runs are chosen by: with randomized priors, as in the paper; `genbayes_bench.rivals` has others."""

from genbayes.design.ensembles.base import Ensemble, NetworkEnsemble
from genbayes.design.ensembles.priors import RandomizedPriors

__all__ = ["Ensemble", "NetworkEnsemble", "RandomizedPriors"]
