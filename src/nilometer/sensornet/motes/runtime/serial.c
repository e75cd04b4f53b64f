/* ---- serial line to the gateway: USART0, 57,600 Bd; a frame is 0x7E length bytes CRC-16 ------------------------ */

static uint16_t serial_crc;
static uint8_t serial_busy;

static void serial_start(void) {
    UBRR0L = 7;
    UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
    UCSR0B = _BV(TXEN0);
}

static void serial_byte(uint8_t byte) {
    while (!(UCSR0A & _BV(UDRE0))) ;
    UCSR0A = _BV(TXC0); /* a one clears it */
    UDR0 = byte;
    serial_busy = 1;
    serial_crc = _crc_xmodem_update(serial_crc, byte);
}

static void serial_frame(const void *bytes, uint8_t length) {
    const uint8_t *at = bytes;
    serial_byte(0x7E);
    serial_crc = 0;
    serial_byte(length);
    while (length--) serial_byte(*at++);
    uint16_t crc = serial_crc;
    serial_byte(crc >> 8);
    serial_byte(crc);
}

/* Sleep stops the line's clock: wait for the last byte. */
static void serial_end(void) {
    if (serial_busy)
        while (!(UCSR0A & _BV(TXC0))) ;
    serial_busy = 0;
}
