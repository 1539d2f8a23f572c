"""What the mock costs over the least that a Flask application can cost: `python -m benchmarks.mock`.

A ratio comes from interleaved rounds of one run, and the median of the rounds' ratios is what counts: the
machine's mood touches both sides of a round alike. The floor is `benchmarks.mock.floor`. Absolute times are
printed for orientation only.
"""
