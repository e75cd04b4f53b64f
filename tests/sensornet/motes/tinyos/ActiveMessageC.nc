configuration ActiveMessageC {
  provides interface SplitControl;
  provides interface AMSend[am_id_t id];
  provides interface Receive[am_id_t id];
  provides interface AMPacket;
}
implementation {
  components RadioP;
  SplitControl = RadioP;
  AMSend = RadioP;
  Receive = RadioP;
  AMPacket = RadioP;
}
