"""NORi's fluxes face by face, in the numbering of its authors: faces 1 (bottom) to N + 1 (surface)."""

from pathlib import Path

import h5py
import numpy as np

SIZES = ((6, 21), (5, 6), (1, 5))


def random_networks(seed: int) -> dict:
    """Two small networks and all scales, as the file of the authors has them."""
    random = np.random.default_rng(seed)

    def network():
        return {
            f"layer_{i + 1}": {
                "weight": random.normal(0.0, 0.5, (n_out, n_in)),
                "bias": random.normal(0.0, 0.2, (n_out, 1)),
            }
            for i, (n_out, n_in) in enumerate(SIZES)
        }

    deviations = {"∂T∂z": 0.02, "∂S∂z": 0.003, "∂ρ∂z": 0.002, "wb": 4e-7, "wT": 1e-4, "wS": 2e-5}
    return {
        "model_config": {"input_size": 21, "activation": "relu"},
        "ps": {"wT": network(), "wS": network()},
        "scaling": {name: {"μ": 0.1 * value, "σ": value} for name, value in deviations.items()},
    }


def write_jld2(path: Path, content: dict) -> Path:
    """A file with dictionaries as Julia writes them: a pair of name and value behind each reference."""
    pair = np.dtype([("first", h5py.string_dtype()), ("second", h5py.ref_dtype)])
    kvvec = np.dtype([("kvvec", h5py.ref_dtype)])
    with h5py.File(path, "w") as file:

        def put(value) -> h5py.Dataset:
            name = f"_values/{len(file.require_group('_values'))}"
            if isinstance(value, dict):
                pairs = []
                for key, below in value.items():
                    entry = np.array((key, put(below).ref), dtype=pair)
                    pairs.append(put_raw(entry).ref)
                references = put_raw(np.array(pairs, dtype=h5py.ref_dtype))
                return put_raw(np.array((references.ref,), dtype=kvvec))
            value = value.T if isinstance(value, np.ndarray) else value
            return file.create_dataset(name, data=value)

        def put_raw(value) -> h5py.Dataset:
            return file.create_dataset(f"_values/{len(file.require_group('_values'))}", data=value)

        for key, value in content.items():
            if isinstance(value, dict):
                file[key] = put(value)
            else:
                file[key] = value
    return path


def clamped(k: int, n: int) -> int:
    return min(max(k, 2), n)


CRITICAL = 0.4366901962987793


def base_of(ri: np.ndarray, critical: float) -> int:
    """The deepest face of the layer; N + 1 without one. `ri` by face, from 2 to N."""
    n, stable, unstable = len(ri) + 1, 0, 0
    found = n + 1
    for k in range(n, 1, -1):
        if ri[k - 2] < critical:
            unstable += 1
        else:
            stable += 1
        near = k > n + 1 - 25
        if ri[k - 2] < critical and unstable >= stable:
            if near or stable == 0 or unstable / stable >= 4:
                found = k
    return found


def network_of(layers: dict, x: np.ndarray) -> float:
    for i in range(1, len(layers) + 1):
        x = layers[f"layer_{i}"]["weight"] @ x + layers[f"layer_{i}"]["bias"].ravel()
        x = np.maximum(x, 0.0) if i < len(layers) else x
    return float(x[0])


def fluxes(content: dict, ri, dt_dz, ds_dz, drho_dz, cooling: float, critical: float):
    """Upward fluxes of temperature and salinity at the inner faces; profiles on inner faces, from the bottom.

    `cooling` is the upward buoyancy flux at the surface.
    """
    n = len(ri) + 1
    upward = np.zeros((2, n - 1))
    base = base_of(ri, critical)
    if base == n + 1 or cooling <= 0.0:
        return upward

    def scaled(name, value):
        return (value - content["scaling"][name]["μ"]) / content["scaling"][name]["σ"]

    below = base - 1
    for k in range(clamped(below - 5 + 1, n), clamped(below + 10, n) + 1):
        around = [clamped(k + shift, n) - 2 for shift in (-2, -1, 0, 1, 2)]
        x = np.concatenate(
            [
                np.arctan(ri[around]),
                scaled("∂T∂z", dt_dz[around]),
                scaled("∂S∂z", ds_dz[around]),
                scaled("∂ρ∂z", drho_dz[around]),
                [scaled("wb", cooling)],
            ]
        )
        for i, name in enumerate(("wT", "wS")):
            upward[i, k - 2] = content["scaling"][name]["σ"] * network_of(content["ps"][name], x)
    return upward
