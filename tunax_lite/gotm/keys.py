"""Every key of version 7 of GOTM's configuration.

Source: the settings that GOTM 7 registers, and the files that it writes with `--write_yaml`.
"""

import math
from collections.abc import Iterator
from typing import Any

from ..runtime.memory import MOST_CELLS
from .schema import Input, Key, choice, flag, number, numbers

VERSION = 7


def _profile(unit: str, low: float = -math.inf, **options: Any) -> Input:
    return Input(unit, low, profile=True, **options)


_OFF = {"off": 0, "constant": 1, "file": 2}
_FILE_ONLY = {"off": 0, "file": 2}
_TIDAL = {"constant": 0, "file": 2, "tidal": 1}


def _hydrography(unit: str, low: float, measures: Key, letter: str, layer: tuple[str, float]) -> Input:
    """Temperature or salinity: initial profile and relaxation."""
    return _profile(
        unit,
        low,
        methods={"off": 0, "file": 2, "constant": 11, "two_layer": 12, "buoyancy": 13},
        more={
            "type": measures,
            "two_layer": numbers("m", 0.0, z_s=0.0, z_b=0.0)
            | numbers(layer[0], layer[1], 40.0, **{f"{letter}_s": 0.0, f"{letter}_b": 0.0}),
            "NN": number(0.0, "s-2", 0.0),
            "relax": numbers("s", 0.0, tau=1e15, tau_s=1e15, tau_b=1e15)
            | numbers("m", 0.0, h_s=0.0, h_b=0.0),
        },
    )


_SURFACE = {
    "fluxes": {
        "method": choice(off=0, kondo=1, fairall=2),
        "heat": Input("W m-2"),
        "tx": Input("Pa"),
        "ty": Input("Pa"),
    },
    "u10": Input("m s-1"),
    "v10": Input("m s-1"),
    "ssuv_method": choice(relative=1, absolute=0),
    "airp": Input("Pa"),
    "airt": Input("degC or K"),
    "hum": Input("", more={"type": choice(relative=1, wet_bulb=2, dew_point=3, specific=4)}),
    "cloud": Input("1", 0.0, 1.0),
    "precip": Input("m s-1", more={"flux_impact": flag(False)}),
    "calc_evaporation": flag(False),
    "swr": Input(
        "W m-2",
        0.0,
        methods={"constant": 1, "file": 2, "calculate": 3},
        more={"type": Key("choice", "net", choices={"net": 1, "downward": 2})},
    ),
    "longwave_radiation": Input(
        "W m-2",
        default=None,
        methods={
            "clark": 3,
            "file": 2,
            "hastenrath_lamb": 4,
            "bignami": 5,
            "berliand_berliand": 6,
            "josey1": 7,
            "josey2": 8,
        },
        more={"type": Key("choice", "net", choices={"net": 1, "downward": 2})},
    ),
    "albedo": {"method": choice(payne=1, constant=0, cogley=2), "constant_value": number(0.0, "1", 0.0, 1.0)},
    "sst": Input("degC"),
    "sss": Input("psu"),
    "ice": {
        "model": choice(simple=1, no_ice=0, basal_melt=2, lebedev=3, mylake=4, winton=5),
        "H": number(0.0, "m"),
        "ocean_ice_flux": number(0.0, "W m-2"),
    },
    "roughness": {
        "charnock": flag(False),
        "charnock_val": number(1400.0, "1", 0.0),
        "z0s_min": number(0.02, "m", 1e-6),
    },
}

_BOUNDARY = {"neumann": 1, "dirichlet": 0}

_TURBULENCE = {
    "turb_method": choice(second_order=3, no_model=0, first_order=2, cvmix=100),
    "tke_method": choice(tke=2, local_eq=1, mellor_yamada=3),
    "len_scale_method": choice(
        dissipation=8,
        parabolic=1,
        triangular=2,
        xing_davies=3,
        robert_ouellet=4,
        blackadar=5,
        bougeault_andre=6,
        mellor_yamada=9,
        gls=10,
        omega=11,
    ),
    "stab_method": choice(constant=1, munk_anderson=2, schumann_gerz=3, icon=4),
    "bc": {name: choice(**_BOUNDARY) for name in ("k_ubc", "k_lbc", "psi_ubc", "psi_lbc")}
    | {"ubc_type": choice(logarithmic=1, tke_injection=2), "lbc_type": choice(logarithmic=1)},
    "turb_param": {
        "compute_kappa": flag(True),
        "compute_c3": flag(True),
        "length_lim": flag(True),
        **numbers("1", 0.0, cm0_fix=0.5477, Prandtl0_fix=0.74, cw=100.0, kappa=0.4, Ri_st=0.25, galp=0.27),
        **numbers("m2 s-1", 0.0, const_num=5e-4, const_nuh=5e-4),
        "k_min": number(1e-10, "m2 s-2", 1e-16),
        "eps_min": number(1e-12, "m2 s-3", 1e-18),
        "kb_min": number(1e-10, "m2 s-4", 0.0),
        "epsb_min": number(1e-14, "m2 s-5", 0.0),
    },
    "generic": {"compute_param": flag(False)}
    | numbers(gen_m=1.5, gen_n=-1.0, gen_p=3.0, cpsi1=1.44, cpsi2=1.92, cpsi3minus=0.0, cpsi3plus=1.0)
    | numbers(cpsix=1.44, cpsi4=0.0, sig_kpsi=1.0, sig_psi=1.3, gen_d=-1.2, gen_alpha=-2.0, gen_l=0.2),
    "keps": {"sig_peps": flag(False)}
    | numbers(ce1=1.44, ce2=1.92, ce3minus=0.0, ce3plus=1.5, cex=1.44, ce4=0.0, sig_k=1.0, sig_e=1.3),
    "kw": numbers(cw1=0.555, cw2=0.833, cw3minus=0.0, cw3plus=0.5, cwx=0.555, cw4=0.15)
    | numbers(sig_kw=2.0, sig_w=2.0),
    "my": {"length": choice(parabolic=1, triangular=2, linear=3)}
    | numbers(e1=1.8, e2=1.33, e3=1.8, ex=1.8, e6=4.0, sq=0.2, sl=0.2),
    "scnd": {
        "method": choice(weak_eq_kb_eq=2, quasi_eq=1, quasi_eq_h15=4),
        "kb_method": choice(algebraic=1, prognostic=2),
        "epsb_method": choice(algebraic=1),
        "scnd_coeff": choice(
            canuto__a=5,
            custom=0,
            gibson_launder=1,
            mellor_yamada=2,
            kantha_clayson=3,
            luyten=4,
            canuto__b=6,
            cheng=7,
        ),
        **numbers(cc1=3.6, cc2=0.8, cc3=1.2, cc4=1.2, cc5=0.0, cc6=0.5),
        **numbers(ct1=3.0, ct2=0.33, ct3=0.33, ct4=0.0, ct5=0.33, ctt=0.8),
    },
    "iw": {
        "method": choice(off=0, mellor=1, large=2),
        "alpha": number(0.0),
        "klim": number(1e-6, "m2 s-2"),
        "rich_cr": number(0.7),
        **numbers("m2 s-1", numshear=5e-3, num=1e-4, nuh=1e-5),
    },
    "epsprof": _profile("W kg-1", default=None, methods=_FILE_ONLY),
}

_TIDE = {"tidal": numbers(amp_1=0.0, amp_2=0.0) | numbers("s", phase_1=0.0, phase_2=0.0)}

_MIMIC_3D = {
    "ext_pressure": {
        "type": choice(elevation=0, velocity=1, average_velocity=2),
        "dpdx": Input("1 or m s-1", methods=_TIDAL, more=_TIDE),
        "dpdy": Input("1 or m s-1", methods=_TIDAL, more=_TIDE),
        "h": Input("m", 0.0),
        **numbers("s", period_1=44714.0, period_2=43200.0),
    },
    "int_pressure": {
        "type": choice(none=0, gradients=1, plume=2),
        "gradients": {
            name: _profile(f"{unit} m-1", methods=_OFF)
            for name, unit in (("dtdx", "K"), ("dtdy", "K"), ("dsdx", "psu"), ("dsdy", "psu"))
        },
        "plume": {"type": choice(bottom=2, surface=1)} | numbers(x_slope=0.0, y_slope=0.0),
        "t_adv": flag(False),
        "s_adv": flag(False),
    },
    "zeta": Input(
        "m",
        methods=_TIDAL,
        more={
            "tidal": numbers("m", amp_1=0.0, amp_2=0.0)
            | numbers("s", phase_1=0.0, phase_2=0.0, period_1=44714.0, period_2=43200.0)
        },
    ),
    "w": {
        "max": Input("m s-1", methods=_OFF),
        "height": Input("m"),
        "adv_discr": choice(p2_pdm=6, upstream=1, p2=3, superbee=4, muscl=5),
    },
}

_STOKES_PROFILE = {"off": 0, "file": 2, "exponential": 3, "empirical": 4}

_WAVES = {
    "Hs": Input("m", 0.0),
    "Tz": Input("s", 0.0),
    "phiw": Input("degree", 0.0, 360.0),
    "stokes_drift": {
        "us0": Input("m s-1", methods=_OFF),
        "vs0": Input("m s-1", methods=_OFF),
        "us": _profile("m s-1", default=None, methods=_STOKES_PROFILE),
        "vs": _profile("m s-1", default=None, methods=_STOKES_PROFILE),
        "dusdz": _profile("s-1", default=None, methods=_FILE_ONLY | {"us": 3}),
        "dvsdz": _profile("s-1", default=None, methods=_FILE_ONLY | {"vs": 3}),
        "exponential": {"ds": Input("m", 0.0, default=5.0, methods=_OFF)},
        "empirical": {"uwnd": Input("m s-1", methods=_OFF), "vwnd": Input("m s-1", methods=_OFF)},
    },
}

_INTERPOLATION = {"quadratic": 2, "linear": 1, "cubic": 3}


def _cvmix_layer(use: bool) -> dict:
    return {
        "use": flag(use),
        "surface_layer_extent": number(0.1, "1", 0.0, 1.0),
        "Ri_c": number(0.3, "1", 0.0),
        "check_Ekman_length": flag(False),
        "check_MonOb_length": flag(False),
        "use_noDGat1": flag(True),
        "match_technique": choice(simple=1, gradient=2, both=3, parabolic=4),
        "bulk_Ri_interp_type": choice(**_INTERPOLATION),
        "OBL_interp_type": choice(lmd94=4, **_INTERPOLATION),
    }


_CVMIX = {
    "surface_layer": _cvmix_layer(True)
    | {"langmuir_method": choice(none=0, lwf16=1, lf17=2, rwh16=3), "use_enhanced_diff": flag(True)},
    "bottom_layer": _cvmix_layer(False),
    "interior": {
        "use": flag(False),
        "background": {"use": flag(False)} | numbers("m2 s-1", diffusivity=1e-5, viscosity=1e-4),
        "shear": {
            "use": flag(False),
            "num_smooth_Ri": Key("integer", 1),
            "mix_scheme": choice(kpp=2, pp=1),
            **numbers("m2 s-1", PP_nu_zero=0.005, KPP_nu_zero=0.005),
            **numbers(PP_alpha=5.0, PP_exp=2.0, KPP_Ri_zero=0.7, KPP_exp=3.0),
        },
        "convection": {"use": flag(False), "basedOnBVF": flag(True), "triggerBVF": number(0.0, "s-2")}
        | numbers("m2 s-1", diffusivity=1.0, viscosity=1.0),
        "tidal_mixing": {"use": flag(False)},
        "double_diffusion": {"use": flag(False)},
    },
}

_TREE = {
    "version": Key("integer", VERSION),
    "title": Key("text", "GOTM simulation"),
    "location": {
        "name": Key("text", "GOTM site"),
        "latitude": number(0.0, "degree north", -90.0, 90.0),
        "longitude": number(0.0, "degree east", -360.0, 360.0),
        "depth": number(100.0, "m", 1e-3),
    },
    "time": {
        "method": choice(start_stop=2, MaxN=1, start_MaxN=3),
        "start": Key("text", "2017-01-01 00:00:00"),
        "stop": Key("text", "2018-01-01 00:00:00"),
        "dt": number(3600.0, "s", 0.0),
        "cnpar": number(1.0, "1", 0.0, 1.0),
    },
    "grid": {
        "nlev": Key("integer", 100, low=3.0, high=float(MOST_CELLS)),
        "method": choice(analytical=0, file_sigma=1, file_h=2),
        **numbers("1", 0.0, ddu=0.0, ddl=0.0),
        "file": Key("path", ""),
        "fixed_grid": flag(False),
    },
    "temperature": _hydrography(
        "degC", -math.inf, choice(in__situ=1, potential=2, conservative=3), "t", ("degC", -2.0)
    ),
    "salinity": _hydrography("psu", 0.0, choice(practical=1, absolute=2), "s", ("g kg-1", 0.0)),
    "surface": _SURFACE,
    "bottom": {
        "calc_bottom_stress": flag(True),
        "h0b": number(0.05, "m", 0.0),
        "max_it_z0b": Key("integer", 1, low=1.0),
    },
    "light_extinction": {
        "method": choice(
            jerlov__i=1, jerlov__1__50m=2, jerlov__ia=3, jerlov__ib=4, jerlov__ii=5, jerlov__iii=6, custom=7
        ),
        "A": Input("1", 0.0, 1.0, default=0.7),
        "g1": Input("m", 0.0, default=0.4),
        "g2": Input("m", 0.0, default=8.0),
    },
    "turbulence": _TURBULENCE,
    "mimic_3d": _MIMIC_3D,
    "velocities": {
        "u": _profile("m s-1", methods=_OFF),
        "v": _profile("m s-1", methods=_OFF),
        "relax": numbers("s", 0.0, tau=1e15, ramp=1e15),
    },
    "waves": _WAVES,
    "o2": _profile("", default=None, methods=_FILE_ONLY),
    "cvmix": _CVMIX,
    "physical_constants": {
        "gravity": number(9.81, "m s-2", 0.0),
        "rotation_period": number(86164.0, "s", 1e-9),
        **numbers("m2 s-1", 0.0, avmolu=1.3e-6, avmolt=1.4e-7, avmols=1.1e-9),
    },
    "fabm": {
        "use": flag(False),
        "yaml_file": Key("path", "fabm.yaml"),
        "freshwater_impact": flag(True),
        "feedbacks": {"shade": flag(False), "albedo": flag(False), "surface_drag": flag(False)},
        "repair_state": flag(False),
        "numerics": {
            "ode_method": Key("text", "fe"),
            "split_factor": Key("integer", 1),
            "w_adv_discr": Key("text", "p2_pdm"),
            "cnpar": number(1.0, "1", 0.0, 1.0),
        },
        "salinity_relaxation_to_freshwater_flux": flag(False),
        "debug": {"no_surface": flag(False), "save_inputs": flag(False)},
        "configuration_method": Key("integer", -1),
        "input": Key("text", ""),
    },
    "equation_of_state": {
        "method": choice(full_teos__10=1, linear_teos__10=2, linear_custom=3),
        "rho0": number(1027.0, "kg m-3"),
        "linear": {
            "T0": number(15.0, "degC", -2.0),
            "S0": number(35.0, "g kg-1", 0.0),
            "p0": number(0.0, "dbar", 0.0),
            "alpha": number(2e-4, "K-1"),
            "beta": number(7.5e-4, "kg g-1"),
            "cp": number(3991.86796, "J kg-1 K-1", 0.0),
        },
    },
    "seagrass": {
        "method": choice(off=0, file=1),
        "file": Key("path", "seagrass.dat"),
        "alpha": number(0.0),
    },
    "restart": {"load": flag(False), "allow_missing_variable": flag(False)},
}

FREE_SECTIONS = ("output", "fabm.input")
"""Sections whose keys are names that the user chooses."""

OUTPUT = {
    "use": flag(True),
    "is_active": flag(True),
    "format": choice(netcdf=2, text=1),
    "title": Key("text", ""),
    "time_unit": choice(day=2, second=0, hour=1, month=3, year=4, dt=5),
    "time_step": Key("integer", 1, low=1.0),
    "time_method": Key("text", "point"),
    "time_start": Key("text", ""),
    "time_stop": Key("text", ""),
}
"""Keys of an output file that mean something here; the others choose what GOTM writes into it."""


def _flatten(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, node in tree.items():
        path = prefix + name
        if isinstance(node, Key):
            yield path, node
            continue
        if isinstance(node, Input):
            yield path, node
            node = node.keys()
        yield from _flatten(node, f"{path}.")


_NODES = dict(_flatten(_TREE))
KEYS: dict[str, Key] = {path: node for path, node in _NODES.items() if isinstance(node, Key)}
"""Every key by its dotted path."""
INPUTS: dict[str, Input] = {path: node for path, node in _NODES.items() if isinstance(node, Input)}
"""Every input by its dotted path; its keys are in `KEYS`."""
