"""Gaussian processes that feature maps and baselines share: on scaled arrays, knowing no estimators."""
