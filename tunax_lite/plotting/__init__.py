"""Figures of runs and calibrations: sections over time and depth, profiles, losses, parameters.

Every function returns a new `matplotlib.figure.Figure`, free of pyplot and its global state: `save_figure`
writes it, a notebook shows it.
"""

from .calibration import history_figures as history_figures
from .calibration import plot_cross_validation as plot_cross_validation
from .calibration import plot_loss as plot_loss
from .calibration import plot_parameters as plot_parameters
from .comparison import plot_closure_profiles as plot_closure_profiles
from .comparison import plot_closure_sections as plot_closure_sections
from .comparison import plot_cost as plot_cost
from .files import figures_of_parts as figures_of_parts
from .files import file_figures as file_figures
from .files import fit_figures as fit_figures
from .files import run_figures as run_figures
from .fits import CaseRuns as CaseRuns
from .fits import plot_fits as plot_fits
from .hindcast import plot_differences as plot_differences
from .hindcast import plot_series as plot_series
from .posterior import plot_bands as plot_bands
from .posterior import plot_correlations as plot_correlations
from .posterior import plot_marginals as plot_marginals
from .posterior import plot_spectrum as plot_spectrum
from .posterior import posterior_figures as posterior_figures
from .runs import plot_profiles as plot_profiles
from .runs import plot_sections as plot_sections
from .style import save_figure as save_figure
