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

static volatile uint8_t never; /* a flag that nobody sets */
