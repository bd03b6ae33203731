"""The networks of NORi, from the file in which its authors publish them (JLD2: HDF5 written by Julia)."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...io.errors import FileFormatError, check_size, existing_file, names_its_file
from ...io.named_files import resolve

Stored = Any  # of h5py, which is slow to import, or what Julia wrote: dictionaries, lists, texts, numbers
N_SAMPLED = 5
"""Faces at which a network sees a profile: its own, two above and two below."""
_GRADIENTS = {"temperature": "∂T∂z", "salinity": "∂S∂z", "density": "∂ρ∂z"}
_N_INPUTS = N_SAMPLED * (1 + len(_GRADIENTS)) + 1
_UNKNOWN = "choose a file that NORi publishes, such as nori:networks"
_MOST_VALUES = 10_000  # in a dictionary of Julia


class Layer(NamedTuple):
    """Outputs before the activation: weight times input, plus offset."""

    weight: np.ndarray  # output, input
    offset: np.ndarray  # output


class Scale(NamedTuple):
    """A network sees (x - mean) / deviation, in the unit of x."""

    mean: float
    deviation: float


class Networks(NamedTuple):
    """Two networks of equal shape, with rectified linear units, and the scales of inputs and results."""

    temperature: tuple[Layer, ...]
    salinity: tuple[Layer, ...]
    gradients: dict[str, Scale]  # of temperature [K m-1], salinity [g kg-1 m-1] and density [kg m-4]
    buoyancy_flux: Scale  # upward at the surface [m2 s-3]
    temperature_flux: float  # unit of the result [K m s-1]
    salinity_flux: float  # [g kg-1 m s-1]


@names_its_file("a JLD2 file")
def read_networks(path) -> Networks:
    """Read the two networks of NORi.

    Args:
        path: of the file, or its name in the manifest of the package, which may download it.

    Raises:
        FileFormatError: not such a file, or networks of another kind.
    """
    import h5py  # takes long

    path = existing_file(resolve(str(path)))
    with h5py.File(path, "r") as opened:
        found = {key: _value(path, opened, key, opened.get(key)) for key in ("model_config", "ps", "scaling")}
    kind = _at(path, found, "model_config", "activation"), _at(path, found, "model_config", "input_size")
    if kind != ("relu", _N_INPUTS):
        expected = f"rectified linear units and {_N_INPUTS} inputs"
        raise FileFormatError(path, "model_config", expected, f"{kind[0]} and {kind[1]}", _UNKNOWN)

    def scale(name: str) -> Scale:
        mean, deviation = (float(_at(path, found, "scaling", name, each)) for each in ("μ", "σ"))
        if not (np.isfinite(mean) and deviation > 0.0):
            raise FileFormatError(
                path, f"scaling/{name}", "a mean and a deviation", f"{mean}, {deviation}", _UNKNOWN
            )
        return Scale(mean, deviation)

    return Networks(
        temperature=_layers(path, found, "wT"),
        salinity=_layers(path, found, "wS"),
        gradients={name: scale(theirs) for name, theirs in _GRADIENTS.items()},
        buoyancy_flux=scale("wb"),
        temperature_flux=scale("wT").deviation,
        salinity_flux=scale("wS").deviation,
    )


def _layers(path: Path, found: Stored, name: str) -> tuple[Layer, ...]:
    """The layers of a network, whose sizes must fit each other."""
    n_inputs, layers = _N_INPUTS, []
    for number in range(1, len(_at(path, found, "ps", name)) + 1):
        key = f"layer_{number}"
        # Julia's first axis is the last one in HDF5.
        weight = np.asarray(_at(path, found, "ps", name, key, "weight"), float).T
        offset = np.asarray(_at(path, found, "ps", name, key, "bias"), float).ravel()
        if weight.shape != (offset.size, n_inputs) or not np.isfinite(weight).all():
            expected = f"finite weights of {offset.size} outputs and {n_inputs} inputs"
            raise FileFormatError(path, f"ps/{name}/{key}", expected, str(weight.shape), _UNKNOWN)
        layers.append(Layer(weight, offset))
        n_inputs = offset.size
    if n_inputs != 1 or not layers:
        raise FileFormatError(path, f"ps/{name}", "layers that end in one output", str(n_inputs), _UNKNOWN)
    return tuple(layers)


def _at(path: Path, found: Stored, *keys: str) -> Stored:
    """The value below several keys."""
    value: Stored = found
    for i, key in enumerate(keys):
        if not isinstance(value, dict) or value.get(key) is None:
            where = "/".join(keys[: i + 1])
            raise FileFormatError(path, where, "a value", "none", _UNKNOWN)
        value = value[key]
    return value


def _value(path: Path, file: Stored, key: str, found: Stored, depth: int = 0) -> Stored:
    """Numbers, texts and nested dictionaries of Julia: pairs behind references."""
    import h5py  # takes long

    if depth > 20:
        raise FileFormatError(path, key, "dictionaries", "references that go in a circle", _UNKNOWN)
    if isinstance(found, h5py.Reference):
        return _value(path, file, key, file[found], depth + 1)
    if isinstance(found, h5py.Dataset):
        check_size(path, key, found.nbytes)
        found = found[()]
    if isinstance(found, np.void) and found.dtype.names == ("kvvec",):
        return dict(_value(path, file, key, found["kvvec"], depth + 1))
    if isinstance(found, np.void) and found.dtype.names == ("first", "second"):
        return tuple(_value(path, file, key, found[name], depth + 1) for name in ("first", "second"))
    if isinstance(found, np.ndarray) and found.dtype == object:
        if found.size > _MOST_VALUES:
            raise FileFormatError(path, key, f"at most {_MOST_VALUES} values", str(found.size), _UNKNOWN)
        return [_value(path, file, key, each, depth + 1) for each in found.ravel()]
    return found.decode() if isinstance(found, bytes) else found
