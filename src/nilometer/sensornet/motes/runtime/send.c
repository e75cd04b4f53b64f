/* ---- sending ---------------------------------------------------------------------------------------------------- */

static uint8_t send_packet[2 + HEADER + PAYLOAD + CHECK];
static volatile uint8_t send_at, send_length, send_done;

/* Driven by "transmit complete" alone, so that the transmitter is never switched off under a byte. */
ISR(USART1_TX_vect) {
    if (send_at < send_length) UDR1 = send_packet[send_at++];
    else send_done = 1;
}

/* As many of a tray's tuples, from the `first`, as the payload has room for; gives their number. */
static uint8_t send_run(const struct tray *tray, uint16_t first, uint8_t *used) {
    uint16_t rows = tray->count - first;
    uint8_t space = PAYLOAD - *used;
    if (space <= tray->size) return 0;
    uint8_t fit = (space - 1) / tray->size;
    if (fit > 15) fit = 15;
    if (rows < fit) fit = rows;
    if (!fit) return 0;
    uint8_t *at = send_packet + 2 + HEADER + *used;
    uint8_t bytes = fit * tray->size;
    *at = tray->kind << 4 | fit;
    memcpy(at + 1, tray->rows + first * tray->size, bytes);
    *used += 1 + bytes;
    return fit;
}

static void send_trays(struct tray *const *trays, uint8_t number) {
    uint8_t at = 0;
    uint16_t first = 0;
    UCSR1A = _BV(TXC1);
    UCSR1B = _BV(TXEN1) | _BV(TXCIE1);
    for (uint8_t last = 0; !last;) {
        uint8_t used = 0;
        for (;;) {
            first += send_run(trays[at], first, &used);
            if (first < trays[at]->count) break; /* the packet is full */
            trays[at]->count = first = 0;
            if (++at == number) {
                last = 1;
                break;
            }
        }
        send_packet[0] = PREAMBLE;
        send_packet[1] = START;
        send_packet[2] = PARENT;
        send_packet[3] = SITE;
        send_packet[4] = last ? LAST : 0;
        send_packet[5] = used;
        uint16_t crc = 0;
        uint8_t end = 2 + HEADER + used;
        for (uint8_t i = 2; i < end; i++) crc = _crc_xmodem_update(crc, send_packet[i]);
        send_packet[end] = crc >> 8;
        send_packet[end + 1] = crc;
        send_at = 1;
        send_length = end + CHECK;
        send_done = 0;
        UDR1 = send_packet[0];
        for (;;) {
            cli();
            if (send_done) break;
            nap();
        }
        sei();
    }
    UCSR1B = 0;
}
