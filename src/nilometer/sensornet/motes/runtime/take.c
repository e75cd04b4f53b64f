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
