/* Listen until the parent tells the start, however long that takes, and set the clock by it. */
static void hear_start(void) {
    UCSR1B = _BV(RXEN1) | _BV(RXCIE1);
    for (;;) {
        cli();
        if (!receive_ready) {
            nap();
            continue;
        }
        if (!receive_crc && receive_packet[1] == PARENT && receive_packet[2] == BEGIN) break;
        receive_ready = 0; /* the parent of others, or noise */
        sei();
    }
    /* A tick begins now: also the prescaler does, or the clock would be off by up to a tick for each hop. */
    TCNT0 = 0;
    SFIOR = _BV(PSR0);
    UCSR1B = 0;
    uint16_t left;
    memcpy(&left, receive_packet + HEADER, sizeof left);
    clock_base = FIRST - left;
    clock_matches = 0;
    while (ASSR & _BV(TCN0UB)) ;
    TIFR = _BV(OCF0);
    sei();
}
