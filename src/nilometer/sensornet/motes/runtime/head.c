#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <util/crc16.h>

/* Reserved extended I/O addresses of the ATmega128: an emulator reads them, hardware ignores them. */
#define FAULT(code) (*(volatile uint8_t *)0xFD = (code))
#define MARK(task) (*(volatile uint8_t *)0xFE = (task))

enum { FAULT_TRAY_FULL = 1, FAULT_CHECKSUM, FAULT_LATE, FAULT_STRANGER, FAULT_STATE_FULL, FAULT_UNHEARD };

/* What the program is for, where emulators look for it (tag, length, value); it takes nothing of a mote. */
const uint8_t _mmcu[] __attribute__((section(".mmcu"), used)) = {
    1, 10, 'a', 't', 'm', 'e', 'g', 'a', '1', '2', '8', 0,
    2, 4, F_CPU & 255, F_CPU >> 8 & 255, F_CPU >> 16 & 255, F_CPU >> 24,
};

static volatile uint8_t never; /* a flag that nobody sets */
