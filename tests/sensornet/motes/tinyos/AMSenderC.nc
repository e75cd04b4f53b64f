generic configuration AMSenderC(am_id_t id) { provides interface AMSend; }
implementation {
  components ActiveMessageC;
  AMSend = ActiveMessageC.AMSend[id];
}
