/* ---- trays: the tuples of one fragment, waiting for a fragment of this site or for the radio (SNEE Fig. 23) ------- */

struct tray {
    uint8_t *rows;
    uint16_t count, capacity;
    uint8_t size, kind; /* bytes of a tuple; the number of the fragment that makes them */
};

/* Room for one more tuple. A plan whose trays are too small is a fault of the compiler, and is reported as one. */
static void *tray_add(struct tray *tray) {
    if (tray->count == tray->capacity) {
        FAULT(FAULT_TRAY_FULL);
        return tray->rows;
    }
    return tray->rows + tray->size * tray->count++;
}

/* The next tuple of an evaluation (its number is a tuple's first byte), from `at` on; 0 after the last. Out of line, so that
 * passing over a tuple of another evaluation takes the same few cycles in every program. */
__attribute__((noinline)) static const void *tray_next(const struct tray *tray, const void *from, uint8_t epoch) {
    const uint8_t *at = from, *end = tray->rows + tray->size * tray->count;
    uint8_t size = tray->size;
    for (; at < end; at += size)
        if (*at == epoch) return at;
    return 0;
}
