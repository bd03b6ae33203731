"""Two-equation closures: k, and a second quantity that holds the length scale. One file per quantity."""
