generic configuration SerialAMSenderC(am_id_t id) { provides interface AMSend; }
implementation {
  components SerialActiveMessageC;
  AMSend = SerialActiveMessageC.AMSend[id];
}
