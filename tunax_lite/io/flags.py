"""Quality flags of OceanSITES and Argo, which have the same numbers."""

GOOD_FLAGS = (1, 2, 5, 8)
"""Good, probably good, changed, interpolated or estimated: the same numbers in OceanSITES and Argo."""
BAD_FLAGS = (3, 4, 9)
"""Probably bad, bad, missing: what a time or a position must not be."""
