/* ---- radio: USART1, 19,200 Bd; RXEN1 and TXEN1 are its power states ---------------------------------------------
 *
 * A packet: 0x55 0x7E | to from flags length | payload | CRC-16. The payload is a sequence of runs: one byte with the
 * kind of the tuples (high half) and their number (low half), then the tuples. The last packet of a slot says so, and
 * the receiver sleeps. */

enum { PREAMBLE = 0x55, START = 0x7E, LAST = 1, HEADER = 4, CHECK = 2 };

static void radio_start(void) {
    UBRR1L = 23;
    UCSR1C = _BV(UCSZ11) | _BV(UCSZ10);
    UCSR1B = 0;
}
