"""Servers to judge the verifier by: one that conforms and is not the mock, many that are wrong on purpose."""
