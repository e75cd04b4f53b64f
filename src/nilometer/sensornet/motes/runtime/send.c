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
