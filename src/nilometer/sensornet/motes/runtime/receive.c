/* Listen to one child until it has said its last, or the slot is over. */
static void receive_from(uint8_t from, uint32_t until) {
    receive_state = receive_ready = 0;
    UCSR1B = _BV(RXEN1) | _BV(RXCIE1);
    uint8_t last = 0;
    while (!last && wait_until(until, &receive_ready)) last = receive_take(from);
    UCSR1B = 0;
    if (!last) FAULT(FAULT_UNHEARD);
}
