"""Real binaries for motes: a placed plan to one C program for each site, built for the ATmega128, and run in an emulator."""
