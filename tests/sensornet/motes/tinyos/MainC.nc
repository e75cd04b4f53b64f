configuration MainC {
  provides interface Boot;
  uses interface Init as SoftwareInit;
}
implementation {
  components RealMainP, TinySchedulerC;
  Boot = RealMainP;
  SoftwareInit = RealMainP.SoftwareInit;
  RealMainP.Scheduler -> TinySchedulerC;
}
