"""Check what a job has before it runs for hours: devices, precision, and a run that all of them share.

srun python smoke.py --devices 4
"""

import argparse
import os

import jax
import jax.numpy as jnp
from gradient import columns, temperature

import tunax_lite as tl


def mean_temperature(n_columns: int, devices) -> float:
    """Mean surface temperature of all columns at the end [degC], reduced on the devices."""
    case = columns(n_columns)
    return float(jax.jit(lambda alpha: jnp.mean(temperature(case, alpha, devices)))(jnp.asarray(5.0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--devices", type=int, required=True, help="number of devices that the job must have")
    parser.add_argument("--precision", choices=("float64", "float32"), default="float64")
    arguments = parser.parse_args()
    tl.configure(precision=arguments.precision)
    if int(os.environ.get("SLURM_NTASKS", "1")) > 1:  # one task per GPU; a single one has all
        jax.distributed.initialize(initialization_timeout=1800)
    own, every = jax.local_devices(), jax.devices()
    names = " ".join(f"{device.platform}:{device.id}" for device in own)
    print(
        f"process {jax.process_index()} of {jax.process_count()}: {names} of {len(every)} devices", flush=True
    )
    if len(every) != arguments.devices:
        raise SystemExit(
            f"smoke.py: expected {arguments.devices} devices, got {len(every)}; see sbatch --gpus-*"
        )
    split, one = (mean_temperature(16 * len(every), devices) for devices in (every, own[:1]))
    tolerance = 1e-9 if arguments.precision == "float64" else 1e-4
    if not abs(split - one) < tolerance:
        raise SystemExit(f"smoke.py: expected {one} degC as on one device, got {split} on all of them")
    if jax.process_index() == 0:
        print(
            f"{arguments.precision}: mean temperature {split:.4f} degC on all devices and on one", flush=True
        )


if __name__ == "__main__":
    main()
