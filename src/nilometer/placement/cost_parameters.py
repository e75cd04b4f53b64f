"""The costs of a mote's primitive actions, as typed values: the catalog's cost profile (data) as the cost
models see it.

One vocabulary serves three kinds of profile: the coarse figures behind SNEE's agendas (`snee-2010`:
milliseconds per primitive, whatever it works on), the cycle-level ones of its Tables 2 and 3 (`mica2`: cycles
per sensed attribute, atomic expression and byte), and those of a current mote (`nrf52840`). A primitive that
a profile does not mention costs 0.
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
    keep_tuple: float  # put a fragment's result into the tray of its consumer
    apply_predicate: float
    apply_atom: float  # for each atomic expression of a predicate or a select list
    check_tuple: float
    do_calculation: float  # add a row to an aggregate
    combine_state: float  # for each 16-bit word of the aggregates' states that it reads or changes
    calculate_float: float  # for each step with a FLOAT, beyond what it takes with an INT
    add_group: float  # start a group with its first row
    compare_key: float  # skip a group with another key in the search for the row's group
    move_tuple: float  # move a tuple in a row window, which sorts those of one evaluation by site
    look_back: float  # find a tuple of the window among those that it remembers
    set_a_value: float
    open_tray: float  # start to search a tray for the tuples of an evaluation
    take_tuple: float  # take a tuple of the evaluation from the tray
    scan_waiting: float  # skip a tuple in the tray that belongs to another evaluation
    task_margin: float  # extra time for a task, as a share of its duration
    minimum_timer_interval: float

    # -- the sensor board
    acquire_data: float  # once per acquisition
    sense_attribute: float  # for each attribute that is sensed

    # -- the radio
    turn_on_radio: float
    turn_off_radio: float
    radio_sync_window: float
    slot_slack: float  # fixed extra time of a slot
    slot_margin: float  # extra time of a slot, as a share of the time to send
    send_packet: float  # a packet, whatever its length
    transmit_packet: (
        float  # the part of send_packet with the transmitter on; in the rest the receiver listens
    )
    transmit_byte: float  # for each byte of payload, with the transmitter on
    between_packets: float
    await_acknowledgement: float  # from the end of a packet until its acknowledgement arrives or is given up
    transmit_acknowledgement: float  # the part of it with the receiver's transmitter on
    packet_payload: float
    packet_overhead: float  # the part of the payload that is not tuples

    # -- the serial line of the sink
    deliver_tuple: float  # a serial packet
    serial_payload: float
    serial_frame: float  # bytes around everything that is delivered at once
    serial_tuple_overhead: float
    serial_value_size: float

    # -- memory
    fixed_ram: float
    operator_ram: float  # an operator's state besides its tuples

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
    sensor_board: float  # always drawn, where the board cannot be switched off

    @property
    def packet_room(self) -> int:
        """The bytes of tuples that a packet can carry."""
        return int(self.packet_payload - self.packet_overhead)


def cost_parameters(profile: CostProfile) -> CostParameters:
    """The typed view of a profile of the catalog."""
    names = [entry.name for entry in fields(CostParameters) if entry.name != "name"]
    return CostParameters(profile.name, **{name: profile[name] for name in names})
