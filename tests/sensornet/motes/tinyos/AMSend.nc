interface AMSend {
  command error_t send(am_addr_t addr, message_t *msg, uint8_t len);
  event void sendDone(message_t *msg, error_t error);
  command void *getPayload(message_t *msg, uint8_t len);
  command uint8_t maxPayloadLength();
}
