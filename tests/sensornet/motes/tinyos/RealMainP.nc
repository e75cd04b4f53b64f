module RealMainP {
  provides interface Boot;
  uses interface Init as SoftwareInit;
  uses interface Scheduler;
}
implementation {
  default command error_t SoftwareInit.init() { return SUCCESS; }
  int main() @C() @spontaneous() {
    call SoftwareInit.init();
    asm volatile("sei" ::: "memory");
    signal Boot.booted();
    call Scheduler.taskLoop();
    return 0;
  }
}
