"""What a method asks for: each kind of evaluation in a file, over the same cases.

A problem holds the cases as arrays, and the threads that run them; an evaluator compiles a program for them.
"""

from .base import AbstractEvaluation as AbstractEvaluation
from .base import AbstractEvaluator as AbstractEvaluator
from .base import Fit as Fit
from .ensemble import EnsembleEvaluation as EnsembleEvaluation
from .ensemble import EnsembleEvaluator as EnsembleEvaluator
from .gradient import GradientEvaluation as GradientEvaluation
from .gradient import GradientEvaluator as GradientEvaluator
from .mini_batch import MiniBatch as MiniBatch
from .normal_equations import NormalEquationsEvaluation as NormalEquationsEvaluation
from .normal_equations import NormalEquationsEvaluator as NormalEquationsEvaluator
from .problem import CaseParameters as CaseParameters
from .problem import Problem as Problem
