module SerialActiveMessageC { provides interface SplitControl; }
implementation {
  command error_t SplitControl.start() { signal SplitControl.startDone(SUCCESS); return SUCCESS; }
  command error_t SplitControl.stop() { signal SplitControl.stopDone(SUCCESS); return SUCCESS; }
}
