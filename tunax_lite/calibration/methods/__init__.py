"""Ways to better parameters; each names the kind of evaluation that it needs."""
