"""The Gaussian process that runs are chosen by."""

from genbayes.design.process.model import DesignGP

__all__ = ["DesignGP"]
