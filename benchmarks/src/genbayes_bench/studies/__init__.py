"""Studies: questions as values, answered by records of the one runner; and measurements of speed and of parts."""

from collections.abc import Mapping

from genbayes_bench.methods import Method
from genbayes_bench.studies.ablations import CLASSIFIERS, ENSEMBLES, LOSSES, ROUTING
from genbayes_bench.studies.comparisons import ACTIVE_LEARNING, AUGMENTATION, AUTO, FAST, MODELS, RECIPE
from genbayes_bench.studies.inference import INFERENCE
from genbayes_bench.studies.study import Study

__all__ = ["STUDIES", "VARIANTS", "Study"]

# what `genbayes bench run` takes beside problems, each a study or several
STUDIES: Mapping[str, tuple[Study, ...]] = {
    "ablations": (LOSSES, ENSEMBLES, CLASSIFIERS, ROUTING),
    "losses": (LOSSES,),
    "ensembles": (ENSEMBLES,),
    "classifiers": (CLASSIFIERS,),
    "routing": (ROUTING,),
    "auto-surrogate": (AUTO,),
    "active-learning": (ACTIVE_LEARNING,),
    "augmentation": (AUGMENTATION,),
    "models": (MODELS,),
    "fast": (FAST,),
    "recipe": (RECIPE,),
    "inference": (INFERENCE,),
}
# methods that only a study asks for: they take no part in the report of all problems
VARIANTS: Mapping[str, Method] = {
    method.name: method
    for studies in STUDIES.values()
    for study in studies
    for method in study.methods
    if isinstance(method, Method)
}
