"""How far a model is from what was observed: from a target with observations to one number per case.

`target` says what counts and makes arrays of it, a `Comparison`, which `misfit` and `residuals` run the model
against.
"""
