generic configuration AMReceiverC(am_id_t id) { provides interface Receive; }
implementation {
  components ActiveMessageC;
  Receive = ActiveMessageC.Receive[id];
}
