interface Timer<precision_tag> {
  command void startOneShotAt(uint32_t t0, uint32_t dt);
  command uint32_t getNow();
  event void fired();
}
