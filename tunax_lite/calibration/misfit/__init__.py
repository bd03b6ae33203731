"""The misfit between model and observations: from a target to one number per case.

`target` selects observations and prepares them as arrays, a `Comparison`, against which `misfit` and
`residuals` run the model.
"""
