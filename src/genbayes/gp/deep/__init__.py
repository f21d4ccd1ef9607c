"""The two-layer deep Gaussian process of Sauer, Gramacy & Higdon (2023), for responses that vary unevenly.

Posterior draws by MCMC, predictions and active learning from them: on scaled arrays, knowing no estimators. The
source is "Active learning for deep Gaussian process surrogates", Technometrics 65.
"""

from genbayes.gp.deep.alc import alc
from genbayes.gp.deep.draws import DeepGPDraws
from genbayes.gp.deep.prediction import DeepGPPrediction, predict_deep_gp, predict_each_draw
from genbayes.gp.deep.sampler import sample_deep_gp
from genbayes.gp.deep.settings import KERNELS, NOISE_FREE, DeepGPSettings, GammaPrior, Kernel, ScalePrior

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
