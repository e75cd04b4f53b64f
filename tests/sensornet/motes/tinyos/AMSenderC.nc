generic module AMSenderC(am_id_t id) { provides interface AMSend; }
implementation {
  command error_t AMSend.send(am_addr_t addr, message_t *msg, uint8_t len) { signal AMSend.sendDone(msg, SUCCESS); return SUCCESS; }
  command void *AMSend.getPayload(message_t *msg, uint8_t len) { return len <= TOSH_DATA_LENGTH ? msg->data : NULL; }
  command uint8_t AMSend.maxPayloadLength() { return TOSH_DATA_LENGTH; }
}
