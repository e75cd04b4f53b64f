"""Real binaries for motes: a placed plan becomes one C program per site, built for the ATmega128 and run in
an emulator.

    site (a site's share) + fields (types of columns) -> program: emission, aggregation, scalars -> C -> toolchain -> ELF
    readings -> emulate -> measurements; the sink's serial line -> gateway -> answers
    calibration (micro-programs) -> the cost profile `avr`, estimate (flash and RAM)

`runtime/` holds the C code that programs start with, `emulator/` the emulator's C code, and `nesc/` and
`tinyos/` the TinyOS 2 form.
"""
