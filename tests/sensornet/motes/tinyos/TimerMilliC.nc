generic module TimerMilliC() { provides interface Timer<TMilli>; }
implementation {
  command void Timer.startOneShot(uint32_t dt) { signal Timer.fired(); }
  command void Timer.startOneShotAt(uint32_t t0, uint32_t dt) { signal Timer.fired(); }
  command void Timer.stop() { }
  command uint32_t Timer.getNow() { return 0; }
}
