/* Listen to one child until the slot is over, and acknowledge what it sends: whether the last acknowledgement arrived,
 * nobody says. A packet that comes again was acknowledged in vain; it is acknowledged once more, and dropped. What never
 * comes was lost on the way, and is no fault: the child has counted it. */
static void receive_from(uint8_t from, uint32_t until) {
    uint8_t before = 0xFF; /* no packet's number */
    receive_state = receive_ready = 0;
    UCSR1B = _BV(RXEN1) | _BV(RXCIE1);
    while (wait_until(until, &receive_ready)) {
        if (!receive_crc && receive_packet[0] == SITE && receive_packet[1] == from) {
            uint8_t sequence = receive_packet[2] & ~(SEQUENCE - 1);
            if (SYNCHRONIZE) {
                uint16_t after = (uint16_t)clock_now() - slot_opened;
                memcpy(send_packet + 2 + HEADER, &after, sizeof after);
            }
            transmit(from, sequence | ACKNOWLEDGEMENT, SYNCHRONIZE ? sizeof(uint16_t) : 0);
            if (sequence == before) {
                COUNT(COUNT_DUPLICATE);
                receive_ready = 0;
                continue;
            }
            before = sequence;
            COUNT(COUNT_TAKEN);
        }
        receive_take(from);
    }
    UCSR1B = 0;
}
