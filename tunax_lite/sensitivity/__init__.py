"""Jacobians of runs by parameters, for least squares and sensitivities.

    J_ij = d residual_i / d parameter_j

Forward mode pushes a chunk of parameters through the run at a time, reverse mode pulls a chunk of residuals
back through it. Memory is a straight line in the size of the chunk.
"""

from .by_case import BlockedJacobian as BlockedJacobian
from .by_case import jacobian_by_case as jacobian_by_case
from .compiled import CompiledJacobian as CompiledJacobian
from .compiled import jacobian as jacobian
from .plan import ChunkSize as ChunkSize
from .plan import JacobianPlan as JacobianPlan
from .plan import JacobianResult as JacobianResult
from .plan import Mode as Mode
from .plan import NormalEquations as NormalEquations
