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

static struct tray *tray_of(uint8_t kind);

/* Put a packet's tuples into their trays. Stays short of two bytes' time, in which the next packet's head arrives. */
static uint8_t receive_take(uint8_t from) {
    uint8_t last = 0;
    if (receive_crc) FAULT(FAULT_CHECKSUM);
    else if (receive_packet[0] == SITE && receive_packet[1] == from) {
        const uint8_t *at = receive_packet + HEADER, *end = at + receive_packet[3];
        while (at < end) {
            struct tray *tray = tray_of(*at >> 4);
            uint8_t rows = *at++ & 15;
            if (!tray) {
                FAULT(FAULT_STRANGER);
                break;
            }
            uint8_t bytes = rows * tray->size;
            if (tray->count + rows > tray->capacity) FAULT(FAULT_TRAY_FULL);
            else {
                memcpy(tray->rows + tray->size * tray->count, at, bytes);
                tray->count += rows;
            }
            at += bytes;
        }
        last = receive_packet[2] & LAST;
    }
    receive_ready = 0;
    return last;
}

/* Listen to one child until it has said its last, or the slot is over. */
static void receive_from(uint8_t from, uint32_t until) {
    receive_state = receive_ready = 0;
    UCSR1B = _BV(RXEN1) | _BV(RXCIE1);
    uint8_t last = 0;
    while (!last && wait_until(until, &receive_ready)) last = receive_take(from);
    UCSR1B = 0;
    if (!last) FAULT(FAULT_UNHEARD);
}
