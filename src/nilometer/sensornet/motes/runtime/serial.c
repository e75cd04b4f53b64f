/* ---- serial line to the gateway: USART0, 57,600 Bd ---------------------------------------------------------------
 *
 * What a delivery task has to say is one frame for each kind of tuples: 0x70 and the number of the kind, the number of the
 * period's first evaluation, the tuples (each begins with its evaluation in the period), 0xFF, CRC-16. The checksum begins
 * with the plan's fingerprint. Nothing is buffered. */

enum { SERIAL_START = 0x70, SERIAL_END = 0xFF };

static uint16_t serial_crc;

static void serial_start(void) {
    UBRR0L = 7;
    UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
    UCSR0B = _BV(TXEN0);
}

static void serial_bytes(const void *bytes, uint8_t length) {
    for (const uint8_t *at = bytes; length--; at++) {
        while (!(UCSR0A & _BV(UDRE0))) ;
        UCSR0A = _BV(TXC0); /* a one clears it */
        UDR0 = *at;
        serial_crc = _crc_xmodem_update(serial_crc, *at);
    }
}

static void serial_open(uint8_t kind, uint32_t first) {
    uint8_t start = SERIAL_START | kind;
    serial_bytes(&start, 1);
    serial_crc = PLAN;
    serial_bytes(&first, sizeof first);
}

static void serial_close(void) {
    uint8_t end = SERIAL_END;
    serial_bytes(&end, 1);
    uint8_t check[] = {serial_crc >> 8, serial_crc};
    serial_bytes(check, sizeof check);
    while (!(UCSR0A & _BV(TXC0))) ; /* sleep stops the line's clock */
}
