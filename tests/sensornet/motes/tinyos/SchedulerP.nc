// Tasks run one after the other, in the order in which they were posted; each waits at most once.
module SchedulerP {
  provides interface Scheduler;
  provides interface TaskBasic[uint8_t id];
  uses interface McuSleep;
}
implementation {
  enum { TASKS = uniqueCount("TinySchedulerC.TaskBasic") };
  uint8_t waiting[TASKS], first, count;
  bool posted[TASKS];

  async command error_t TaskBasic.postTask[uint8_t id]() {
    atomic {
      uint8_t place = first + count;
      if (posted[id]) return EBUSY;
      posted[id] = TRUE;
      waiting[place < TASKS ? place : place - TASKS] = id;
      count++;
    }
    return SUCCESS;
  }

  command void Scheduler.taskLoop() {
    for (;;) {
      uint8_t next;
      atomic {
        while (!count) call McuSleep.sleep();
        next = waiting[first];
        if (++first == TASKS) first = 0;
        count--;
        posted[next] = FALSE;
      }
      signal TaskBasic.runTask[next]();
    }
  }

  default event void TaskBasic.runTask[uint8_t id]() { }
}
