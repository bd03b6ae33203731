"""Stored results of readers, runs and calibrations, so that a change of the code that changes them is seen.

`python -m tests.golden` computes everything again, prints what changed and stores it.
"""
