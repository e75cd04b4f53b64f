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
