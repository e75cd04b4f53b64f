/* ---- receiving -------------------------------------------------------------------------------------------------- */

static uint8_t receive_packet[HEADER + PAYLOAD + CHECK];
static volatile uint8_t receive_state, receive_at, receive_ready;
static uint16_t receive_crc;

ISR(USART1_RX_vect) {
    uint8_t byte = UDR1;
    if (receive_ready) return; /* the last packet has not been looked at: its successor is lost, and will be missed */
    if (!receive_state) {
        if (byte == START) {
            receive_state = 1;
            receive_at = 0;
            receive_crc = 0;
        }
        return;
    }
    receive_packet[receive_at++] = byte;
    receive_crc = _crc_xmodem_update(receive_crc, byte);
    if (receive_at == HEADER && receive_packet[3] > PAYLOAD) receive_state = 0;
    else if (receive_at >= HEADER && receive_at == HEADER + receive_packet[3] + CHECK) {
        receive_state = 0;
        receive_ready = 1;
    }
}
