"""The misfit between model and observations: from a target to one number per case.

`target` says what counts and makes arrays of it, a `Comparison`, which `misfit` and `residuals` run the model
against.
"""
