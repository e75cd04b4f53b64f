/* ---- sending, each packet until it is acknowledged --------------------------------------------------------------- */

/* The tick that it is. A match while the counter is read would make it a span less. */
static uint32_t clock_now(void) {
    uint32_t now;
    do {
        wait_until(clock_base, &never); /* counts the matches that there were */
        clock_settle();
        now = clock_base + TCNT0;
    } while (clock_matches);
    return now;
}

/* Send a packet once; says whether it was acknowledged. */
static uint8_t send_once(uint8_t flags, uint8_t used) {
    receive_state = receive_ready = 0;
    COUNT(COUNT_SENDING);
    transmit(PARENT, flags, used);
    uint32_t until = clock_now() + PATIENCE;
    while (wait_until(until, &receive_ready)) {
        uint8_t answer = (flags & ~LAST) | ACKNOWLEDGEMENT;
        if (!receive_crc && receive_packet[0] == SITE && receive_packet[1] == PARENT && receive_packet[2] == answer) return 1;
        receive_ready = 0;
    }
    return 0;
}

/* All tuples of the trays, in at most `left` sendings: so many the slot has time for. What it has none for is given up. */
static void send_trays(struct tray *const *trays, uint8_t number, uint16_t left) {
    uint8_t at = 0, sequence = 0;
    uint16_t first = 0;
    for (uint8_t last = 0; !last; sequence += SEQUENCE) {
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
        COUNT(COUNT_PACKET);
        uint8_t tries = RETRIES + 1, heard = 0;
        for (; tries && left && !heard; tries--, left--) heard = send_once(sequence | last, used);
        if (!heard) COUNT(COUNT_GIVEN_UP);
    }
    UCSR1B = 0;
}
