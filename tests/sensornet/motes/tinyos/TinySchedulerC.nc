configuration TinySchedulerC {
  provides interface Scheduler;
  provides interface TaskBasic[uint8_t id];
}
implementation {
  components SchedulerP, McuSleepC;
  Scheduler = SchedulerP;
  TaskBasic = SchedulerP;
  SchedulerP.McuSleep -> McuSleepC;
}
