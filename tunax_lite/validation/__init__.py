"""Whether a calibration is worth anything outside of its own data: cases left out, and runs of their own."""

from ..calibration.files import CHECKS_NAME as CHECKS_NAME
from ..calibration.files import CROSS_VALIDATION_NAME as CROSS_VALIDATION_NAME
from .checks import AbstractCheck as AbstractCheck
from .checks import CheckRow as CheckRow
from .checks import run_checks as run_checks
from .cross_validation import CrossValidation as CrossValidation
from .cross_validation import CrossValidationRow as CrossValidationRow
from .cross_validation import cross_validate as cross_validate
from .measures import EntrainmentLaw as EntrainmentLaw
from .measures import ObservedCase as ObservedCase
from .measures import persistence_errors as persistence_errors
from .tables import checks_in_words as checks_in_words
from .tables import cross_validation_in_words as cross_validation_in_words
from .tables import read_table as read_table
from .tables import write_table as write_table
