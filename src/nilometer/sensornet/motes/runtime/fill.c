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

/* Fill a packet from the trays, of which those before `at` are empty, and the first `first` tuples of that one are sent; says
 * whether it is the last. */
static uint8_t send_fill(struct tray *const *trays, uint8_t number, uint8_t *at, uint16_t *first, uint8_t *used) {
    *used = 0;
    for (;;) {
        *first += send_run(trays[*at], *first, used);
        if (*first < trays[*at]->count) return 0; /* the packet is full */
        trays[*at]->count = *first = 0;
        if (++*at == number) return LAST;
    }
}
