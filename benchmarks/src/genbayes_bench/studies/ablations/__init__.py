"""The paper's ablations: loss weights, ensembling, strength of the classifier, mixtures of experts."""
