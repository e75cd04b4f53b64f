#include "Timer.h"
generic configuration TimerMilliC() { provides interface Timer<TMilli>; }
implementation {
  components TimerMilliP, MainC;
  MainC.SoftwareInit -> TimerMilliP;
  Timer = TimerMilliP.Timer[unique("TimerMilliC")];
}
