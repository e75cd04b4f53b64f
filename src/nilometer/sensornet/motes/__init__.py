"""Real binaries for motes: a placed plan to one C program for each site, built for the ATmega128, and run in an emulator.

    site (a site's share) + fields (types of columns) -> program: emission, aggregation, scalars -> C -> toolchain -> ELF
    readings -> emulate -> measurements; the sink's serial line -> gateway -> answers
    calibration (micro-programs) -> the cost profile `avr`, estimate (flash and RAM)

`runtime/` has the C that programs begin with, `emulator/` that of the emulator, `nesc/` and `tinyos/` the form for TinyOS 2.
"""
