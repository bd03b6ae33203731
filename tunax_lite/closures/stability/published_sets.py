"""Published constants of the pressure-strain and pressure-scrambling models of second moments."""

from typing import NamedTuple


class SecondMomentSet(NamedTuple):
    """The constants of `SecondMomentClosure` in the notation of Umlauf and Burchard (2005) [1]."""

    cc1: float
    cc2: float
    cc3: float
    cc4: float
    cc5: float
    cc6: float
    ct1: float
    ct2: float
    ct3: float
    ct4: float
    ct5: float
    ctt: float


PUBLISHED_SETS = {
    "gibson_launder": SecondMomentSet(
        3.6, 0.8, 1.2, 1.2, 0.0, 0.5, 3.0, 0.3333, 0.3333, 0.0, 0.3333, 0.8
    ),  # Gibson and Launder (1978), J. Fluid Mech. 86, 491-511
    "mellor_yamada": SecondMomentSet(
        6.0, 0.32, 0.0, 0.0, 0.0, 0.0, 3.728, 0.0, 0.0, 0.0, 0.0, 0.6102
    ),  # Mellor and Yamada (1982), Rev. Geophys. 20, 851-875
    "kantha_clayson": SecondMomentSet(
        6.0, 0.32, 0.0, 0.0, 0.0, 0.0, 3.728, 0.7, 0.7, 0.0, 0.2, 0.6102
    ),  # Kantha and Clayson (1994), J. Geophys. Res. 99, 25235-25266
    "luyten": SecondMomentSet(
        3.0, 0.8, 2.0, 1.118, 0.0, 0.5, 3.0, 0.3333, 0.3333, 0.0, 0.3333, 0.8
    ),  # Luyten et al. (1996), J. Geophys. Res. 101, 1327-1346
    "canuto_a": SecondMomentSet(
        5.0, 0.8, 1.968, 1.136, 0.0, 0.4, 5.95, 0.6, 1.0, 0.0, 0.3333, 0.72
    ),  # Canuto et al. (2001), J. Phys. Oceanogr. 31, 1413-1426, model A
    "canuto_b": SecondMomentSet(
        5.0, 0.6983, 1.9664, 1.094, 0.0, 0.495, 5.6, 0.6, 1.0, 0.0, 0.3333, 0.477
    ),  # the same, model B
    "cheng": SecondMomentSet(
        5.0, 0.7983, 1.968, 1.136, 0.0, 0.5, 5.52, 0.2134, 0.357, 0.0, 0.3333, 0.82
    ),  # Cheng et al. (2002), J. Atmos. Sci. 59, 1550-1565
}
"""Constants by name, for `SecondMomentClosure.of`."""
