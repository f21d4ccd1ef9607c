"""Ensembles that runs are chosen by: the paper's, and the alternatives of its Supplement D."""

from genbayes.design.ensembles.anchored import Anchored
from genbayes.design.ensembles.base import Ensemble, NetworkEnsemble
from genbayes.design.ensembles.bootstrap import Bootstrap
from genbayes.design.ensembles.lastlayer import LastLayerLaplace
from genbayes.design.ensembles.priors import RandomizedPriors
from genbayes.design.ensembles.sngp import SNGP

__all__ = ["SNGP", "Anchored", "Bootstrap", "Ensemble", "LastLayerLaplace", "NetworkEnsemble", "RandomizedPriors"]
