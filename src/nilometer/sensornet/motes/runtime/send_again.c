/* ---- sending, each packet until it is acknowledged --------------------------------------------------------------- */

/* Send a packet once; says whether it was acknowledged. */
static uint8_t send_once(uint8_t flags, uint8_t used) {
    receive_state = receive_ready = 0;
    COUNT(COUNT_SENDING);
    transmit(PARENT, flags, used);
    uint32_t sent = clock_now();
    while (wait_until(sent + PATIENCE, &receive_ready)) {
        uint8_t answer = (flags & ~LAST) | ACKNOWLEDGEMENT;
        if (!receive_crc && receive_packet[0] == SITE && receive_packet[1] == PARENT && receive_packet[2] == answer) {
            if (SYNCHRONIZE) {
                memcpy(&slot_apart, receive_packet + HEADER, sizeof slot_apart);
                slot_apart -= (uint16_t)sent - slot_opened;
                slot_told = 1;
            }
            return 1;
        }
        receive_ready = 0;
    }
    return 0;
}

/* Set the clock by what was told last. After a period in which nothing was, by what it drifted in those before: one that is left
 * alone would soon send when nobody listens, and never be told again. */
static void clock_set(void) {
    if (slot_told) {
        slot_drift += (slot_apart - slot_drift) / (slot_missed + 1); /* by so much it was wrong in each period since */
        clock_base += slot_apart;
        slot_told = slot_missed = 0;
    } else {
        clock_base += slot_drift;
        if (slot_missed < 255) slot_missed++;
    }
}

/* All tuples of the trays, in at most `left` sendings: so many the slot has time for. What it has none for is given up. */
static void send_trays(struct tray *const *trays, uint8_t number, uint16_t left) {
    uint8_t at = 0, sequence = 0;
    uint16_t first = 0;
    for (uint8_t used, last = 0; !last; sequence += SEQUENCE) {
        last = send_fill(trays, number, &at, &first, &used);
        COUNT(COUNT_PACKET);
        uint8_t tries = RETRIES + 1, heard = 0;
        for (; tries && left && !heard; tries--, left--) heard = send_once(sequence | last, used);
        if (!heard) COUNT(COUNT_GIVEN_UP);
    }
    UCSR1B = 0;
    if (SYNCHRONIZE) clock_set();
}
