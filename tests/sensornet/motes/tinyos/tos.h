/* What nescc and every component need to know: types, interrupts, the registers of the ATmega128. TinyOS 2's names; the text is ours. */
#ifndef TOS_H
#define TOS_H
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <util/crc16.h>

typedef uint8_t bool;
enum { FALSE = 0, TRUE = 1 };
typedef uint8_t error_t;
enum { SUCCESS = 0, FAIL = 1, EBUSY = 5 };

typedef uint16_t am_addr_t;
typedef uint8_t am_id_t;

#ifndef TOSH_DATA_LENGTH
#define TOSH_DATA_LENGTH 28
#endif
enum { SERIAL_HEADER = 7, RADIO_HEADER = 4, CHECK = 2 };

/* A header ends where the data begin: the serial line's has seven bytes, our radio's the last four. */
typedef struct message {
  uint8_t header[SERIAL_HEADER];
  uint8_t data[TOSH_DATA_LENGTH];
  uint8_t footer[CHECK];
} message_t;

typedef uint8_t __nesc_atomic_t;
__nesc_atomic_t __nesc_atomic_start(void) @spontaneous();
void __nesc_atomic_end(__nesc_atomic_t state) @spontaneous();
inline __nesc_atomic_t __nesc_atomic_start(void) @spontaneous() {
  __nesc_atomic_t state = SREG;
  asm volatile("cli" ::: "memory");
  return state;
}
inline void __nesc_atomic_end(__nesc_atomic_t state) @spontaneous() {
  asm volatile("" ::: "memory");
  SREG = state;
}

#define INTERRUPT(vector) void vector() __attribute((signal)) @atomic_hwevent() @C()

/* Reserved addresses that the emulator reads; the numbers are those of the programs in C. */
#define FAULT(code) (*(volatile uint8_t *)0xFD = (code))
enum { FAULT_CHECKSUM = 2, FAULT_LATE = 3, FAULT_UNHEARD = 6 };
#endif
