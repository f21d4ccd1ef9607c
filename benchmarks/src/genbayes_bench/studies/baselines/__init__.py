"""The baselines against the original R packages on identical data, and against each other."""
