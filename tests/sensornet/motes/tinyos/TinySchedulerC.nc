module TinySchedulerC { provides interface TaskBasic[uint8_t id]; }
implementation {
  async command error_t TaskBasic.postTask[uint8_t id]() { signal TaskBasic.runTask[id](); return SUCCESS; }
  default event void TaskBasic.runTask[uint8_t id]() { }
}
