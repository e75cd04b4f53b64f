/* Tell the children the start, in each turn of this site that is not over. */
static void tell_start(void) {
    for (uint32_t at = TURN; at < FIRST; at += ROUND) {
        if (at < clock_base) continue;
        uint16_t left = FIRST - AIRTIME - at;
        memcpy(send_packet + 2 + HEADER, &left, sizeof left);
        send_frame(EVERYBODY, BEGIN, sizeof left);
        wait_until(at - 1, &never);
        UCSR1A = _BV(TXC1);
        UCSR1B = _BV(TXEN1) | _BV(TXCIE1); /* from power-save some crystals wake too late for what follows */
        wait_until(at, &never);
        __builtin_avr_delay_cycles(TELL_DELAY);
        UDR1 = send_packet[0];
        for (;;) {
            cli();
            if (send_done) break;
            nap();
        }
        UCSR1B = 0;
        sei();
    }
}
