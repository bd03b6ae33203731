"""Time of a column-step against the columns of a block: `python -m benchmarks.blocks`.

What `BYTES_PER_BLOCK` in `runtime.blocks` is chosen by: forward runs and gradients of many columns,
all at once and in blocks, in turn on one core.
"""

import argparse
from functools import partial

from .timing import pin_to_one_core, time_in_turn

N_STEPS = 120


def measure(n_columns: int, precision: str, blocks: list[int], gradient: bool, seconds: float) -> None:
    """Print a row for each block."""
    import jax
    import jax.numpy as jnp

    import tunax_lite as tl
    from tunax_lite.runtime import compile_program

    from .column import DT, FIVE_PARAMETERS, parameter_values, problem, with_parameters

    def loss(values, model, case, block):
        run = tl.simulate(
            with_parameters(model, FIVE_PARAMETERS, values),
            case,
            dt=DT,
            duration=N_STEPS * DT,
            output_interval=N_STEPS * DT,
            checkpointing=tl.SaveSegments(),
            column_block=block,
        )
        return jnp.mean((run.state.temperature[-1] - 19.5) ** 2)

    with jax.enable_x64(precision == "float64"):
        model, case = problem(n_columns=n_columns, precision=precision)
        arguments = parameter_values(model, FIVE_PARAMETERS), model, case
        function = jax.grad(loss) if gradient else loss
        programs = {
            block: compile_program(function, *arguments, block=block) for block in (None, *blocks, "auto")
        }
        calls = {str(block): partial(program, *arguments) for block, program in programs.items()}
        timings = time_in_turn(calls, seconds=seconds)
    for block, program in programs.items():
        microseconds = 1e6 * timings[str(block)].minimum / (n_columns * N_STEPS)
        megabytes = program.memory.temporary / 1e6
        print(f"{'all' if block is None else block:>6}  {microseconds:8.2f} us  {megabytes:8.2f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.blocks", description=__doc__)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--precision", choices=("float64", "float32"), default="float64")
    parser.add_argument("--blocks", type=int, nargs="*", default=[8, 16, 32, 64, 128])
    parser.add_argument("--gradient", action="store_true")
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    pin_to_one_core()
    from tunax_lite.runtime import configure

    configure()
    print(
        f"{options.columns} columns of 64 levels, {options.precision}, us per column-step, temporary memory"
    )
    measure(options.columns, options.precision, options.blocks, options.gradient, options.seconds)


if __name__ == "__main__":
    main()
