"""Calibration methods; each names the kind of evaluation that it needs."""
