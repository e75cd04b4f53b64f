module ActiveMessageC { provides interface SplitControl; provides interface AMPacket; }
implementation {
  command error_t SplitControl.start() { signal SplitControl.startDone(SUCCESS); return SUCCESS; }
  command error_t SplitControl.stop() { signal SplitControl.stopDone(SUCCESS); return SUCCESS; }
  command am_addr_t AMPacket.source(message_t *msg) { return msg->header[0]; }
}
