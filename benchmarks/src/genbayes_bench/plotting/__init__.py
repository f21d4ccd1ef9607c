"""Pictures of results of benchmarks, from arrays; Matplotlib is imported when something is first drawn."""
