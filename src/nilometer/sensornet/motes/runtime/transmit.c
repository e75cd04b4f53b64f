/* ---- sending ---------------------------------------------------------------------------------------------------- */

static uint8_t send_packet[2 + HEADER + PAYLOAD + CHECK];
static volatile uint8_t send_at, send_length, send_done;

/* Driven by "transmit complete" alone, so that the transmitter is never switched off under a byte. */
ISR(USART1_TX_vect) {
    if (send_at < send_length) UDR1 = send_packet[send_at++];
    else send_done = 1;
}
