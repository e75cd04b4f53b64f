// Power-save stops the main clock, so that it is only for times when neither radio, converter nor serial line needs it.
module McuSleepC { provides interface McuSleep; }
implementation {
  async command void McuSleep.sleep() {
    uint8_t mode = 0;  // idle
    if (!((UCSR1B & (1 << RXEN1 | 1 << TXEN1)) || (UCSR0B & 1 << TXEN0) || (ADCSRA & 1 << ADEN))) {
      // One crystal cycle must pass between waking and power-save (data sheet, "Asynchronous Operation of Timer/Counter0").
      TCCR0 = TCCR0;
      while (ASSR & 1 << TCR0UB) ;
      mode = 1 << SM1 | 1 << SM0;
    }
    MCUCR = (MCUCR & ~(1 << SM2 | 1 << SM1 | 1 << SM0)) | mode | 1 << SE;
    asm volatile("sei\n\tsleep\n\tcli" ::: "memory");
    MCUCR &= ~(1 << SE);
  }
}
