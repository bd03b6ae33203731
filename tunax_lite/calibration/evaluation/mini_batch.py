"""A few of the cases instead of all: cheaper steps where there are many cases."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class MiniBatch:
    """A few cases, drawn so that every case comes once in a round of batches.

    The order of the cases is drawn anew for each round.

    Args:
        size: cases at a time; more than there are takes all of them.
        seed: of the random numbers.
        number: of the batch since the start.
    """

    size: int
    seed: int
    number: int

    def weights(self, of_all: np.ndarray) -> np.ndarray:
        """Weights of the cases, `(n_cases,)`: 0 for those left out, larger for the others.

        The mean over the batches of a round is `of_all`, so that the mean of the losses is the loss.
        """
        cases = np.flatnonzero(of_all > 0.0)
        n_batches = -(-cases.size // self.size)
        round_, place = divmod(self.number, n_batches)
        order = np.random.default_rng([self.seed, round_]).permutation(cases)
        weights = np.zeros_like(of_all)
        drawn = np.array_split(order, n_batches)[place]
        weights[drawn] = n_batches * of_all[drawn]
        return weights
