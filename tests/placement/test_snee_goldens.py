"""The figures of the SNEE paper that can be exact (goldens: SNEE), under the profile `snee-2010`."""

from __future__ import annotations

import pytest

from nilometer.errors import InfeasibleError
from nilometer.placement import Agenda, Placement, QualityOfService, cost_parameters
from nilometer.types import DAY, SECOND
from placement.scenarios import Q1, Q2, Q3, brook, placed
from placement.unit_energies import packet_energy, unit_energies

SIX_MONTHS = 15_778_463
"""Seconds, as the paper counts them."""


@pytest.fixture(scope="module")
def example() -> Placement:
    return placed(Q3, "snee-2010")


def test_fig_15_the_routing_tree(example: Placement) -> None:
    assert dict(example.routing.parents) == {6: 3, 3: 1, 1: 0, 9: 7, 7: 5, 5: 3, 4: 5}
    assert 2 not in example.routing
    assert 8 not in example.routing


def test_figs_17_and_18_the_fragments_and_their_sites(example: Placement) -> None:
    names = [[node.operator for node in fragment.operators] for fragment in example.fragments]
    assert names[0] == ["DELIVER"]
    assert names[1] == ["PROJECT", "NL_JOIN"]
    assert names[2] == ["TIME_WINDOW", "SP_ACQUIRE"]
    assert names[3] == ["TIME_WINDOW", "SP_ACQUIRE"]  # an elided [NOW]
    assert {number: set(sites) for number, sites in example.placed.sites_of.items()} == {
        0: {0},
        1: {3},
        2: {4},
        3: {5, 6, 7, 9},
    }
    assert example.placed.relays == (1,)


def test_tuples_are_laid_out_as_c_structs(example: Placement) -> None:
    assert {flow.fragment: flow.size for flow in example.placed.flows} == {3: 16, 2: 12, 1: 12}


def test_fig_22_the_agenda(example: Placement) -> None:
    agenda = example.agenda
    assert agenda.sites == (6, 9, 7, 4, 5, 3, 1, 0)
    assert agenda.beta == 29
    moments = [(t.start, t.end) for t in agenda.transfers] + [(t.start, t.end) for t in agenda.tasks]
    starts = {agenda.milliseconds(start) for start, _ in moments}
    assert agenda.milliseconds(agenda.last_evaluation) == 25_200_000
    assert sorted(starts) == [
        25_200_034,
        25_200_940,
        25_201_846,
        25_203_602,
        25_204_508,
        25_207_963,
        25_208_020,
        25_211_475,
        25_214_930,
    ]
    assert agenda.milliseconds(agenda.delivery) == 25_226_372
    assert agenda.milliseconds(agenda.period) == 26_100_000
    assert [agenda.milliseconds(sleep.start) for sleep in agenda.sleeps[:3]] == [34, 900_034, 1_800_034]


def test_fig_22_who_does_what(example: Placement) -> None:
    agenda = example.agenda
    assert [(t.source, t.target, t.packets) for t in agenda.transfers] == [
        (6, 3, 29),
        (9, 7, 29),
        (7, 5, 58),
        (4, 5, 29),
        (5, 3, 116),
        (3, 1, 116),
        (1, 0, 116),
    ]
    assert [(agenda.milliseconds(t.start), t.site, t.fragment) for t in agenda.tasks] == [
        (25_207_963, 3, 1),
        (25_214_930, 0, 0),
    ]


def test_beta_is_29_because_of_site_3_and_428_bytes_of_runtime(example: Placement) -> None:
    # The paper does not say where 29 comes from; the runtime's 428 bytes are the most natural explanation, not a proof.
    site = example.sites[3]
    assert (site.fixed_ram, site.operator_ram, site.buffer_ram) == (428, 48, 29 * 124)
    assert site.ram <= 4096 < site.ram + 124


def test_the_network_is_asleep_for_99_896_percent(example: Placement) -> None:
    agenda = example.agenda

    def asleep(leaf: int) -> float:
        awake = leaf * (agenda.beta - 1) + agenda.delivery - agenda.last_evaluation
        return round(100 * (1 - awake / agenda.period), 3)

    assert asleep(_leaf(agenda, 3)) == 99.896  # as the paper has it, by River's acquisition of 32 ticks
    assert asleep(agenda.acquired) == 99.895  # by Hilltop's, which is the one that all wait for
    assert (_leaf(agenda, 3), agenda.acquired) == (32, 34)


def _leaf(agenda: Agenda, fragment: int) -> int:
    return next(task.end - task.start for task in agenda.acquisitions if task.fragment == fragment)


# ---- section 6 -------------------------------------------------------------------------------------------------------


def test_section_6_1_sensor_board_sleep_and_lifetime(example: Placement) -> None:
    for site, plan in example.sites.items():
        if site == 0:
            continue
        assert 0.84 <= plan.energy.sensor_board / plan.energy.total < 0.85
        assert round(plan.energy.cpu_sleep / plan.energy.total, 2) == 0.15
        assert plan.lifetime is not None
        assert 145 <= plan.lifetime / 86400 <= 147  # about 4.5 months on 31,320 J
    estimate = example.estimate
    assert estimate.lifetime is not None
    six_months = {
        "board": example.sites[6].energy.sensor_board * SIX_MONTHS / estimate.period,
        "sleep": example.sites[6].energy.cpu_sleep * SIX_MONTHS / estimate.period,
    }
    assert round(six_months["board"]) == 33_135
    assert round(six_months["sleep"], -1) == 5_850  # 5,855 J were it always asleep


@pytest.mark.parametrize(("query", "ticks"), [(Q1, 1090), (Q2, 712), (Q3, 1420)])
def test_fig_29_how_long_one_evaluation_takes(query: str, ticks: int) -> None:
    agenda = placed(query.replace("15 MINUTES", "2 SECONDS"), "snee-2010", _every(2, beta=1)).agenda
    assert agenda.delivery == ticks


def test_fig_29_at_one_second_only_q2_can_be_kept() -> None:
    for query in (Q1, Q3):
        with pytest.raises(
            InfeasibleError, match="an acquisition interval of 1 SECOND is too short"
        ) as caught:
            placed(query.replace("15 MINUTES", "1 SECOND"), "snee-2010", _every(1))
        assert caught.value.hint is not None
        assert "the nearest interval that can be kept is" in caught.value.hint
    assert placed(Q2, "snee-2010", _every(1)).agenda.beta >= 1


def test_fig_29_at_two_seconds_all_three_can() -> None:
    for query in (Q1, Q2, Q3):
        assert placed(query.replace("15 MINUTES", "2 SECONDS"), "snee-2010", _every(2)).agenda.beta >= 1


def _every(seconds: int, beta: int | None = None) -> QualityOfService:
    return QualityOfService.of(
        acquisition_interval=seconds * SECOND, delivery_time=DAY, buffering_factor=beta
    )


# ---- tables 2 and 3 --------------------------------------------------------------------------------------------------


def test_table_3_follows_from_the_currents() -> None:
    unit = unit_energies(cost_parameters(brook("mica2").profile))
    names = ("sense", "process", "idle", "receive", "transmit")
    micro = {name: getattr(unit, name) * 1e6 for name in names}
    printed = {
        "sense": 0.0009402,
        "process": 0.0030286,
        "idle": 0.0013100,
        "receive": 0.0039061,
        "transmit": 0.0048054,
    }
    # The paper rounds some of them and cuts others off: equal to its last digit.
    assert micro == pytest.approx(printed, abs=1e-7)


def test_table_2_follows_from_table_3() -> None:
    costs = cost_parameters(brook("mica2").profile)
    unit = unit_energies(costs)
    cycles = costs.clock_rate / 1000

    def microjoules(milliseconds: float, *units: float) -> float:
        return sum(units) * milliseconds * cycles * 1e6

    assert round(costs.send_packet * cycles) == 14353 + 62446
    assert round(costs.transmit_byte * cycles) == 3072
    assert round(microjoules(costs.call_method, unit.process), 3) == 0.376
    assert round(microjoules(costs.sense_attribute, unit.sense), 2) == 2.39
    assert round(microjoules(costs.apply_atom, unit.process), 3) == 0.024
    assert round(microjoules(costs.turn_on_radio, unit.process), 3) == 3.680
    listening = costs.send_packet - costs.transmit_packet
    assert round(microjoules(listening, unit.process, unit.receive), 2) == 99.53
    assert round(microjoules(costs.transmit_packet, unit.idle, unit.transmit), 1) == 381.9
    assert round(microjoules(costs.transmit_byte, unit.idle, unit.transmit), 2) == 18.79
    assert round(packet_energy(29, costs) * 1e6, 1) == round(99.53 + 381.887 + 29 * 18.787, 1)
