/* ---- sensing: single conversions of the 10-bit converter, asleep (idle) while it works ------------------------- */

static volatile uint8_t adc_done;

ISR(ADC_vect) { adc_done = 1; }

static uint16_t sense(uint8_t channel) {
    ADMUX = _BV(REFS0) | channel;
    adc_done = 0;
    ADCSRA = _BV(ADEN) | _BV(ADIE) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADSC); /* clock / 64 = 115 kHz */
    for (;;) {
        cli();
        if (adc_done) break;
        nap();
    }
    sei();
    return ADC;
}

static void sense_off(void) { ADCSRA = 0; }
