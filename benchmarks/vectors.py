"""Time of a column-step against the length of the vectors of a CPU: `python -m benchmarks.vectors`.

What the default of `configure(vector_bits=...)` is chosen by. All programs take turns in one process.
"""

from typing import Any

from .timing import pin_to_one_core, time_in_turn

BITS = (128, 256, 512)


def compiled(differentiate: bool, shape, bits: int) -> Any:
    """A call of a program of the shape, compiled for vectors of at most so many bits."""
    import equinox as eqx
    import jax

    from .column import FIVE_PARAMETERS, parameter_values, problem
    from .forward import forward_loss
    from .gradient import value_and_gradient

    model, case = problem(**shape._asdict())
    given = (parameter_values(model, FIVE_PARAMETERS), model, case) if differentiate else (model, case)
    arrays, others = eqx.partition(given, eqx.is_array)
    function = value_and_gradient if differentiate else forward_loss
    with jax.enable_x64(shape.precision == "float64"):
        lowered = jax.jit(lambda x: function(*eqx.combine(x, others), n_steps=shape.n_steps)).lower(arrays)
        program = lowered.compile({"xla_cpu_prefer_vector_width": str(bits)})
    return lambda: program(arrays)


def main() -> None:
    """Print a row for each program."""
    pin_to_one_core()
    from tunax_lite.runtime import configure

    configure(cache_folder=None, vector_bits=None)

    from .forward import Shape

    shapes = [(False, shape) for shape in (Shape(), Shape(1, 256), Shape(32), Shape(64, 64, "float32"))]
    shapes += [(True, Shape()), (True, Shape(32))]
    calls = {(*shape, bits): compiled(*shape, bits) for shape in shapes for bits in BITS}
    timings = time_in_turn({str(key): call for key, call in calls.items()}, rounds=10, seconds=60.0)
    print("| us per column-step | " + " | ".join(f"{bits} bits" for bits in BITS) + " |")
    print("| --- |" + " ---: |" * len(BITS))
    for differentiate, shape in shapes:
        found = [timings[str((differentiate, shape, bits))].minimum for bits in BITS]
        us = [f"{1e6 * seconds / (shape.n_columns * shape.n_steps):.2f}" for seconds in found]
        print(f"| {'gradient' if differentiate else 'forward'}, {shape.name} | {' | '.join(us)} |")


if __name__ == "__main__":
    main()
