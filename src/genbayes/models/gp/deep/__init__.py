"""The two-layer deep Gaussian process of Sauer, Gramacy & Higdon (2023), for responses that vary unevenly.

Posterior draws by MCMC, predictions and active learning from them: on scaled arrays, knowing no estimators. The
source is "Active learning for deep Gaussian process surrogates", Technometrics 65.
"""

from genbayes.models.gp.deep.layers import KERNELS, NOISE_FREE, DeepGPSettings, GammaPrior, Kernel, ScalePrior
from genbayes.models.gp.deep.prediction import DeepGPDraws, DeepGPPrediction, alc, predict_deep_gp, predict_each_draw
from genbayes.models.gp.deep.sampling import sample_deep_gp

__all__ = [
    "KERNELS",
    "NOISE_FREE",
    "DeepGPDraws",
    "DeepGPPrediction",
    "DeepGPSettings",
    "GammaPrior",
    "Kernel",
    "ScalePrior",
    "alc",
    "predict_deep_gp",
    "predict_each_draw",
    "sample_deep_gp",
]
