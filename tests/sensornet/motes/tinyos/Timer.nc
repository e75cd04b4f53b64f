#include "Timer.h"
interface Timer<precision_tag> {
  command void startOneShot(uint32_t dt);
  command void startOneShotAt(uint32_t t0, uint32_t dt);  // t0 is in the past
  command void stop();
  command uint32_t getNow();
  event void fired();
}
