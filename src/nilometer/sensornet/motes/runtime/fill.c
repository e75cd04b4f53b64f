/* As many of a tray's tuples, from the `first`, as the payload has room for; gives their number. */
static uint8_t send_run(const struct tray *tray, uint16_t first, uint8_t *used) {
    uint16_t rows = tray->count - first;
    uint8_t space = PAYLOAD - *used;
    if (space <= tray->size) return 0;
    uint8_t fit = (space - 1) / tray->size;
    if (fit > 15) fit = 15;
    if (rows < fit) fit = rows;
    if (!fit) return 0;
    uint8_t *at = send_packet + 2 + HEADER + *used;
    uint8_t bytes = fit * tray->size;
    *at = tray->kind << 4 | fit;
    memcpy(at + 1, tray->rows + first * tray->size, bytes);
    *used += 1 + bytes;
    return fit;
}
