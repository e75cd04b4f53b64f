/* ---- acknowledged packets: what both ends of a hop need ----------------------------------------------------------
 *
 * The flags of a packet also have its number in the slot, of six bits: one bit would take the packet after one that was
 * given up for its predecessor sent again. An acknowledgement is a packet without payload that repeats the number. */

enum { ACKNOWLEDGEMENT = 2, SEQUENCE = 4 }; /* flags; a number's lowest bit */

/* What an emulator counts, as it reads MARK; hardware ignores it. Nothing of it is a fault. */
#define COUNT(what) (*(volatile uint8_t *)0xFC = (what))
enum { COUNT_PACKET = 1, COUNT_SENDING, COUNT_GIVEN_UP, COUNT_TAKEN, COUNT_DUPLICATE };

/* The tick that it is. A match while the counter is read would make it a span less. */
static uint32_t clock_now(void) {
    uint32_t now;
    do {
        wait_until(clock_base, &never); /* counts the matches that there were */
        clock_settle();
        now = clock_base + TCNT0;
    } while (clock_matches);
    return now;
}

/* Where clocks drift (SYNCHRONIZE), an acknowledgement says how many ticks after the slot's opening the packet came, by the
 * parent's clock. The child knows when by its own, and sets that by the difference when it is through with its slot, which
 * is the last that it does in a period. */
static uint16_t slot_opened;
static int16_t slot_apart, slot_drift;   /* the difference; what the clock drifts in a period */
static uint8_t slot_told, slot_missed;   /* in this slot; periods since */

/* Send what is in send_packet, with its head and checksum, and listen from its end on. */
static void transmit(uint8_t to, uint8_t flags, uint8_t used) {
    send_frame(to, flags, used);
    UCSR1A = _BV(TXC1);
    UCSR1B = _BV(TXEN1) | _BV(TXCIE1);
    UDR1 = send_packet[0];
    for (;;) {
        cli();
        if (send_done) break;
        nap();
    }
    UCSR1B = _BV(RXEN1) | _BV(RXCIE1);
    sei();
}
