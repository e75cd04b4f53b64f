"""The profile of a current mote: what is derived follows from the figures that its documents print."""

from __future__ import annotations

from dataclasses import fields

import pytest

from nilometer.catalog.nrf52840 import NRF52840
from nilometer.catalog.profiles import cost_profile
from nilometer.placement import CostParameters, cost_parameters
from placement.unit_energies import packet_energy, unit_energies

COSTS = cost_parameters(cost_profile("nrf52840"))


def test_frames_take_what_250_kbit_a_second_make_of_their_bytes() -> None:
    # The longest frame has 127 bytes, and 6 before it; 250 bits a millisecond.
    assert COSTS.packet_payload == 127 - 11
    on_air = COSTS.transmit_packet + COSTS.transmit_byte * COSTS.packet_payload
    assert on_air == pytest.approx((127 + 6) * 8 / 250)
    # Before it the channel is sensed for 128 us and the radio turns round in 192 us; after it, 640 us of silence.
    assert COSTS.send_packet - COSTS.transmit_packet == pytest.approx(0.128 + 0.192)
    assert COSTS.between_packets == pytest.approx(0.64)


def test_an_acknowledgement_ends_before_it_is_given_up() -> None:
    assert COSTS.transmit_acknowledgement == pytest.approx((5 + 6) * 8 / 250)
    assert COSTS.await_acknowledgement == pytest.approx(0.864)
    assert 0.192 + COSTS.transmit_acknowledgement < COSTS.await_acknowledgement


def test_shares_of_processor_and_radio_add_up_to_what_was_measured() -> None:
    assert COSTS.cpu_active + COSTS.radio_transmit == pytest.approx(8.1e-3)  # IS0
    assert COSTS.cpu_active + COSTS.radio_receive == pytest.approx(
        8.87e-3
    )  # IS1, 802.15.4 instead of Bluetooth LE
    assert COSTS.cpu_idle + COSTS.radio_transmit == pytest.approx(6.40e-3)  # IRADIO_TX5
    assert COSTS.cpu_active == pytest.approx(52e-6 * 64, rel=0.01)


def test_unit_energies_are_volts_times_amperes_by_the_clock() -> None:
    unit = unit_energies(COSTS)
    cycles = 64_000_000
    assert unit.process * cycles == pytest.approx(3 * (3.3e-3 - 3.16e-6))
    assert unit.idle * cycles == pytest.approx(3 * (1.6e-3 - 3.16e-6))
    assert unit.receive * cycles == pytest.approx(3 * 5.57e-3)
    assert unit.transmit * cycles == pytest.approx(3 * 4.8e-3)
    assert unit.sense * cycles == pytest.approx(3 * 1.24e-3)
    # Eq. 18: 320 us of listening beside a running processor, 4.256 ms of sending beside a waiting one.
    expected = 3 * (0.320e-3 * (8.87e-3 - 3.16e-6) + 4.256e-3 * (6.40e-3 - 3.16e-6))
    assert packet_energy(116, COSTS) == pytest.approx(expected)


def test_no_figure_of_the_mica2s_is_left_where_a_radio_or_a_current_is_meant() -> None:
    """Inherited are only costs of SNEE's that are 0 in its Table 2, and sizes of the paper's serial text."""
    inherited = {entry.name for entry in fields(CostParameters)} - {"name", *NRF52840}
    texts = {"serial_tuple_overhead", "serial_value_size", "operator_ram"}
    assert {name: getattr(COSTS, name) for name in inherited - texts} == dict.fromkeys(inherited - texts, 0)
