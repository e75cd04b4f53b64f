/* ---- clock: Timer0 on the 32,768 Hz watch crystal, 1024 ticks a second, which runs on in power-save ------------- */

static uint32_t clock_base;               /* the tick of the last compare match that was counted */
static uint8_t clock_span = 255;          /* the next match comes clock_span + 1 ticks after it */
static volatile uint16_t clock_matches;   /* matches since then: all that happens four times a second */

ISR(TIMER0_COMP_vect) { clock_matches++; }

static void clock_start(void) {
    ASSR = _BV(AS0);
    TCNT0 = 0;
    TCCR0 = _BV(WGM01) | _BV(CS01) | _BV(CS00); /* clear on match, crystal / 32 */
    OCR0 = clock_span;
    while (ASSR & (_BV(TCN0UB) | _BV(OCR0UB) | _BV(TCR0UB))) ;
    TIMSK = _BV(OCIE0);
}

/* Sleep until an interrupt. Called with interrupts off. Power-save stops the main clock, so it is only for times when
 * neither the radio nor the converter needs it; before it, one crystal cycle must pass since the last wake-up (data
 * sheet, "Asynchronous Operation of Timer/Counter0"), which the wait for the control register's update sees to. */
static void nap(void) {
    if ((UCSR1B & (_BV(RXEN1) | _BV(TXEN1))) || (ADCSRA & _BV(ADEN))) {
        set_sleep_mode(SLEEP_MODE_IDLE);
    } else {
        TCCR0 = _BV(WGM01) | _BV(CS01) | _BV(CS00);
        while (ASSR & _BV(TCR0UB)) ;
        set_sleep_mode(SLEEP_MODE_PWR_SAVE);
    }
    sleep_enable();
    sei();
    sleep_cpu();
    sleep_disable();
}

/* Sleep until the tick, or until the flag is set (whichever comes first); says whether it was the flag. */
static uint8_t wait_until(uint32_t at, volatile uint8_t *flag) {
    for (;;) {
        cli();
        clock_base += (uint32_t)clock_matches * ((uint16_t)clock_span + 1);
        clock_matches = 0;
        int32_t left = at - clock_base;
        if (*flag || left <= 0) {
            sei();
            return *flag;
        }
        uint8_t span = left > 256 ? 255 : left - 1;
        if (span != clock_span) {
            /* A match that has not been counted yet must be counted with the span that it ended. */
            if (TIFR & _BV(OCF0)) {
                sei();
                continue;
            }
            /* A compare value that the counter has reached would be missed until it wraps; the last tick before `at` is too
             * short to sleep in. There is no match in it: the counter is below the value that it was set to before. */
            if (TCNT0 >= span) {
                sei();
                while (TCNT0 < left && !*flag) ;
                return *flag;
            }
            OCR0 = clock_span = span;
            while (ASSR & _BV(OCR0UB)) ;
        }
        uint16_t matches = left > 0xFFFFFFL ? 0xFFFF : left > 256 ? (left - 1) >> 8 : 1;
        do {
            nap();
            cli();
        } while (clock_matches < matches && !*flag);
    }
}
