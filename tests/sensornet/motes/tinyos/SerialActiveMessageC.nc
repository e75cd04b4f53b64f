configuration SerialActiveMessageC {
  provides interface SplitControl;
  provides interface AMSend[am_id_t id];
}
implementation {
  components SerialP;
  SplitControl = SerialP;
  AMSend = SerialP;
}
