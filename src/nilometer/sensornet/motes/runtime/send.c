static void send_trays(struct tray *const *trays, uint8_t number) {
    uint8_t at = 0;
    uint16_t first = 0;
    UCSR1A = _BV(TXC1);
    UCSR1B = _BV(TXEN1) | _BV(TXCIE1);
    for (uint8_t used, last = 0; !last;) {
        last = send_fill(trays, number, &at, &first, &used);
        send_frame(PARENT, last, used);
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
