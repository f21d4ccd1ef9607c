"""The ensembles that the paper's Supplement D compared with randomized priors, for choosing runs by."""

from genbayes_bench.rivals.ensembles.anchored import Anchored
from genbayes_bench.rivals.ensembles.bootstrap import Bootstrap
from genbayes_bench.rivals.ensembles.lastlayer import LastLayerLaplace
from genbayes_bench.rivals.ensembles.sngp import SNGP

__all__ = ["SNGP", "Anchored", "Bootstrap", "LastLayerLaplace"]
