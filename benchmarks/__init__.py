"""Side-by-side timings against peers: `python -m benchmarks`. One file a topic, `bench_<topic>.py` with a `rows()`."""
