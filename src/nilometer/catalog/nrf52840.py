"""The costs of a current mote's actions: Nordic's nRF52840 with IEEE 802.15.4 at 2.4 GHz, figure by figure.

Each figure names its source:

- PS: nRF52840 Product Specification (docs.nordicsemi.com, bundle ps_nrf52840), typical values at 3 V and 25 C
  with the DC/DC regulator; symbols as in its tables.
- 802.15.4: IEEE 802.15.4-2006, O-QPSK at 2450 MHz: 250 kbit/s, 62,500 symbols a second; the constants as in
  RIOT (net/ieee802154.h), ns-3 (lr-wpan-constants.h) and the crate dot15d4.
- ours: a choice of this project, from no document. Boards differ in their crystals, sensors and leakage:
  measure your own, and write the differences under `[profile]` of the topology.

Times are milliseconds and currents amperes, as in `profiles`.
"""

from __future__ import annotations

from typing import Final

# -- the processor
CLOCK_RATE: Final = 64_000_000  # PS, CPU: Cortex-M4F at 64 MHz
CPU_RUNNING: Final = 3.3e-3  # PS, Current consumption, CPU running: from flash, HFXO, DC/DC (52 uA/MHz)
CPU_ASLEEP: Final = 3.16e-6  # PS, Sleep, ION_RAMON_RTC: System ON, all RAM kept, woken by the RTC

# -- the radio; the chip has one supply, so the shares of processor and radio are differences of the PS's
# figures
RADIO_SENDING: Final = (
    6.40e-3  # PS, Radio transmitting/receiving, IRADIO_TX5: 0 dBm, 802.15.4; processor waits
)
RADIO_RECEIVING: Final = 6.53e-3  # PS, IRADIO_RX2: 802.15.4; processor waits
RECEIVING_BLUETOOTH: Final = 6.26e-3  # PS, IRADIO_RX0: 1 Mbit/s Bluetooth LE; processor waits
RUNNING_AND_SENDING: Final = (
    8.1e-3  # PS, Compounded, IS0: processor runs, 0 dBm, Bluetooth LE (sends like TX5)
)
RUNNING_AND_RECEIVING: Final = 8.6e-3  # PS, Compounded, IS1: processor runs, Bluetooth LE
CRYSTAL_START: Final = (
    0.36  # ours: a usual start of the 32 MHz crystal; the PS has no one figure for all crystals
)
RAMP_UP: Final = 0.13  # PS of the nRF5340, whose radio is a sister: tTXEN, 802.15.4, 130 us (40 us if fast)

# -- the frame
SYMBOL: Final = 0.016  # 802.15.4: 16 us
BYTE: Final = 2 * SYMBOL  # 802.15.4: four bits a symbol
SENSING_THE_CHANNEL: Final = 8 * SYMBOL  # 802.15.4: aCCATime
TURNING_ROUND: Final = 12 * SYMBOL  # 802.15.4: aTurnaroundTime
SPACING: Final = 40 * SYMBOL  # 802.15.4: LIFS, after a frame of more than 18 bytes
LONGEST_FRAME: Final = 127  # 802.15.4: aMaxPHYPacketSize
PHYSICAL_HEADER: Final = 4 + 1 + 1  # 802.15.4: preamble, start of frame, length
FRAME_HEADER: Final = (
    2 + 1 + 2 + 2 + 2 + 2
)  # 802.15.4: control, number, network, two short addresses; checksum
ACKNOWLEDGEMENT: Final = 5  # 802.15.4: control, number, checksum
AWAITING_ACKNOWLEDGEMENT: Final = 54 * SYMBOL  # 802.15.4: macAckWaitDuration

# -- the sensor
SAMPLING: Final = 1.24e-3  # PS, SAADC active, ISAADC,RUN
ACQUISITION: Final = 0.04  # PS, SAADC, CONFIG.TACQ: the longest, 40 us, for sources of up to 800 kOhm

# -- the serial line of the sink
SERIAL_BYTE: Final = 10 / 115.2  # ours: 115,200 bits a second, ten of them a byte
SERIAL_FRAME: Final = 8  # ours: as the frame of TinyOS's serial packets

_CYCLE: Final = 1000 / CLOCK_RATE
_PAYLOAD: Final = LONGEST_FRAME - FRAME_HEADER

NRF52840: Final[dict[str, float]] = {
    # Cycles as in SNEE's Table 2 for an AVR: a cycle of a Cortex-M4 does at least as much.
    "check_tuple": 8 * _CYCLE,
    "do_calculation": 8 * _CYCLE,
    "call_method": 124 * _CYCLE,
    "apply_atom": 8 * _CYCLE,
    "acquire_data": 1,  # ours: until a sensor that was switched on can be read
    "sense_attribute": ACQUISITION,
    "turn_on_radio": CRYSTAL_START + RAMP_UP,
    "radio_sync_window": 1,  # ours: clocks agree to a millisecond; `--drift` adds their divergence
    "send_packet": SENSING_THE_CHANNEL + TURNING_ROUND + (PHYSICAL_HEADER + FRAME_HEADER) * BYTE,
    "transmit_packet": (PHYSICAL_HEADER + FRAME_HEADER) * BYTE,
    "transmit_byte": BYTE,
    "between_packets": SPACING,
    "await_acknowledgement": AWAITING_ACKNOWLEDGEMENT,
    "transmit_acknowledgement": (PHYSICAL_HEADER + ACKNOWLEDGEMENT) * BYTE,
    "packet_payload": _PAYLOAD,
    "packet_overhead": 2,  # ours: the protocol and the message type, as in TinyOS
    "deliver_tuple": (_PAYLOAD + SERIAL_FRAME) * SERIAL_BYTE,
    "serial_payload": _PAYLOAD,
    "fixed_ram": 8192,  # ours: a runtime, with its stack, of the 256 kB
    "clock_rate": CLOCK_RATE,
    "voltage": 3,  # PS: the condition of its measurements
    "cpu_active": CPU_RUNNING,
    # The processor waits while clocks and regulators run: the rest after subtracting the transmitter's share.
    "cpu_idle": RADIO_SENDING - (RUNNING_AND_SENDING - CPU_RUNNING),
    "cpu_sleep": CPU_ASLEEP,
    # The share beside a running processor, as in the cost models; receiving 802.15.4 costs more than
    # Bluetooth LE by this difference.
    "radio_receive": RUNNING_AND_RECEIVING + (RADIO_RECEIVING - RECEIVING_BLUETOOTH) - CPU_RUNNING,
    "radio_transmit": RUNNING_AND_SENDING - CPU_RUNNING,
    "radio_sleep": 0,  # counted with the processor: they are one chip
    "sensor_on": SAMPLING,
    "sensor_board": 0,  # ours: sensors that are switched off between readings
}
