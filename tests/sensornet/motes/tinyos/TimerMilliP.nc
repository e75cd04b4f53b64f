// All timers on Timer0, which the 32,768 Hz watch crystal drives, also in power-save: 1024 ticks a second. The counter is cleared when it
// has reached OCR0; the ticks of the matches are added up.
#include "Timer.h"
module TimerMilliP {
  provides interface Init;
  provides interface Timer<TMilli>[uint8_t id];
}
implementation {
  enum { TIMERS = uniqueCount("TimerMilliC"), LATE = 2 };

  uint32_t due[TIMERS];
  bool running[TIMERS];
  uint32_t base;               // the tick of the last match that was added
  norace uint8_t span = 255;   // the next one is span + 1 ticks after it
  uint16_t matches;            // since then
  uint16_t wanted = 0xFFFF;    // at so many matches there is something to do

  // Before variables are set, which takes some ticks where there are many: all motes count from their reset.
  void startClock() __attribute__((naked, used, section(".init3"))) @C() @spontaneous() {
    ASSR = 1 << AS0;
    TCNT0 = 0;
    TCCR0 = 1 << WGM01 | 1 << CS01 | 1 << CS00;  // clear on match, crystal / 32
    OCR0 = 255;
    while (ASSR & (1 << TCN0UB | 1 << OCR0UB | 1 << TCR0UB)) ;
  }

  command error_t Init.init() {
    TIMSK |= 1 << OCIE0;
    return SUCCESS;
  }

  // The counter may be read a crystal cycle after waking.
  void settle() {
    TCCR0 = 1 << WGM01 | 1 << CS01 | 1 << CS00;
    while (ASSR & 1 << TCR0UB) ;
  }

  uint32_t now() {
    uint32_t result;
    atomic {
      uint16_t passed = matches;
      uint8_t counter;
      settle();
      counter = TCNT0;
      if (TIFR & 1 << OCF0) {  // a match that has not been counted; the counter may have been read before it
        counter = TCNT0;
        passed++;
      }
      result = base + (uint32_t)passed * ((uint16_t)span + 1) + counter;
    }
    return result;
  }

  task void look();

  INTERRUPT(TIMER0_COMP_vect) {
    if (++matches >= wanted) post look();
  }

  // Sleep until the tick `left` after the base.
  void wakeAfter(uint32_t left) {
    uint8_t next = left > 256 ? 255 : left - 1;
    atomic {
      if (next != span) {
        uint8_t counter;
        settle();
        counter = TCNT0;
        if (matches || (TIFR & 1 << OCF0)) {  // must be added with the span that it ended
          post look();
          return;
        }
        if (counter >= next) {  // too near to sleep until then
          post look();
          return;
        }
        if (counter >= span) {  // a match is about to come, and would be counted with the new span
          wanted = 1;
          return;
        }
        OCR0 = span = next;
        while (ASSR & 1 << OCR0UB) ;
      }
      wanted = left > 0xFFFFFFUL ? 0xFFFF : left > 256 ? (left - 1) >> 8 : 1;
      if (matches >= wanted) post look();
    }
  }

  // One timer that is due, or the next that will be.
  task void look() {
    uint32_t time, least = 0x7FFFFFFFUL;  // also if no timer runs: seldom matches, then
    uint8_t id;
    atomic {
      base += (uint32_t)matches * ((uint16_t)span + 1);
      matches = 0;
    }
    time = now();
    for (id = 0; id < TIMERS; id++) {
      int32_t left = due[id] - time;
      if (!running[id]) continue;
      if (left <= 0) {
        if (left < -LATE) FAULT(FAULT_LATE);
        running[id] = FALSE;
        post look();
        signal Timer.fired[id]();
        return;
      }
      if ((uint32_t)left < least) least = left;
    }
    wakeAfter(least + (time - base));
  }

  void start(uint8_t id, uint32_t at) {
    due[id] = at;
    running[id] = TRUE;
    post look();
  }
  command void Timer.startOneShot[uint8_t id](uint32_t dt) { start(id, now() + dt); }
  command void Timer.startOneShotAt[uint8_t id](uint32_t t0, uint32_t dt) { start(id, t0 + dt); }
  command void Timer.stop[uint8_t id]() { running[id] = FALSE; }
  command uint32_t Timer.getNow[uint8_t id]() { return now(); }
  default event void Timer.fired[uint8_t id]() { }
}
