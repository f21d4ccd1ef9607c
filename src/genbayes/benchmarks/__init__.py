"""Benchmarks: problems as data, run and told honestly."""
