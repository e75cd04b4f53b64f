"""What a mote's primitive actions take, as typed values: the catalog's cost profile (data) seen by the cost models.

One vocabulary serves the coarse figures behind SNEE's agendas (`snee-2010`: milliseconds for each primitive, whatever it
works on), the cycle-level ones of its Tables 2 and 3 (`mica2`: cycles for each sensed attribute, atomic expression and
byte) and those of a current mote (`nrf52840`): a primitive that a profile does not know costs it 0.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from nilometer.catalog.network import CostProfile


@dataclass(frozen=True)
class CostParameters:
    """Durations in milliseconds, sizes in bytes, currents in amperes."""

    name: str

    # -- the processor
    call_method: float
    signal_event: float
    copy_tuple: float
    keep_tuple: float  # a fragment's result put where it waits for its consumer
    apply_predicate: float
    apply_atom: float  # for each atomic expression of a predicate or a select list
    check_tuple: float
    do_calculation: float  # a row taken into an aggregate
    combine_state: float  # for each word of 16 bits of the aggregates' states that it asks for or changes
    calculate_float: float  # for each step with a FLOAT, beyond what it takes with an INT
    add_group: float  # a row's group begun, if it is the first of it
    compare_key: float  # a group whose key is not the row's, passed over in search of the row's group
    move_tuple: (
        float  # a tuple moved by a row window, which counts those of one evaluation in the order of sites
    )
    look_back: float  # a tuple that a window holds, found among those that it remembers
    set_a_value: float
    open_tray: float  # the search for an evaluation's tuples begun, among those that wait
    take_tuple: float  # a tuple of the evaluation found there
    scan_waiting: float  # a tuple that waits for another evaluation, looked at and passed over
    task_margin: float  # that a task is given beyond what it should take, as a share of it
    minimum_timer_interval: float

    # -- the sensor board
    acquire_data: float  # once an acquisition
    sense_attribute: float  # for each attribute that is sensed

    # -- the radio
    turn_on_radio: float
    turn_off_radio: float
    radio_sync_window: float
    slot_slack: float  # that a slot is longer than what is sent in it should take, whatever that is
    slot_margin: float  # and as a share of what is sent
    send_packet: float  # a packet, whatever its length
    transmit_packet: (
        float  # the part of send_packet with the transmitter on; in the rest the receiver listens
    )
    transmit_byte: float  # for each byte of payload, with the transmitter on
    between_packets: float
    await_acknowledgement: float  # from a packet's end until its acknowledgement has come, or is given up
    transmit_acknowledgement: float  # the part of it with the receiver's transmitter on
    packet_payload: float
    packet_overhead: float  # the part of the payload that is not tuples

    # -- the serial line of the sink
    deliver_tuple: float  # a serial packet
    serial_payload: float
    serial_frame: float  # bytes around all that is delivered at once
    serial_tuple_overhead: float
    serial_value_size: float

    # -- memory
    fixed_ram: float
    operator_ram: float  # state of an operator beside its tuples

    # -- electricity
    clock_rate: float  # of the processor, in hertz
    voltage: float
    cpu_active: float
    cpu_idle: float
    cpu_sleep: float
    radio_receive: float
    radio_transmit: float
    radio_sleep: float
    sensor_on: float  # while an attribute is sensed
    sensor_board: float  # always, where the board cannot be switched off

    @property
    def packet_room(self) -> int:
        """The bytes of tuples that a packet can carry."""
        return int(self.packet_payload - self.packet_overhead)


def cost_parameters(profile: CostProfile) -> CostParameters:
    """The typed view of a profile of the catalog."""
    names = [entry.name for entry in fields(CostParameters) if entry.name != "name"]
    return CostParameters(profile.name, **{name: profile[name] for name in names})
