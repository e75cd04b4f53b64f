/* ---- sending ---------------------------------------------------------------------------------------------------- */

static uint8_t send_packet[2 + HEADER + PAYLOAD + CHECK];
static volatile uint8_t send_at, send_length, send_done;

/* Driven by "transmit complete" alone, so that the transmitter is never switched off under a byte. */
ISR(USART1_TX_vect) {
    if (send_at < send_length) UDR1 = send_packet[send_at++];
    else send_done = 1;
}

/* Give what is in send_packet its head and checksum. */
static void send_frame(uint8_t to, uint8_t flags, uint8_t used) {
    send_packet[0] = PREAMBLE;
    send_packet[1] = START;
    send_packet[2] = to;
    send_packet[3] = SITE;
    send_packet[4] = flags;
    send_packet[5] = used;
    uint16_t crc = 0;
    uint8_t end = 2 + HEADER + used;
    for (uint8_t i = 2; i < end; i++) crc = _crc_xmodem_update(crc, send_packet[i]);
    send_packet[end] = crc >> 8;
    send_packet[end + 1] = crc;
    send_at = 1;
    send_length = end + CHECK;
    send_done = 0;
}
