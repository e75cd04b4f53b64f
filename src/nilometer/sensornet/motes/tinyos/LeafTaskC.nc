// The task of a fragment that acquires: sense, then put the row on the tray.
generic module LeafTaskC() {
  provides interface AgendaTask;
  uses interface AgendaTask as Sensing;
  uses interface Produce;
  uses interface Evaluation;
}
implementation {
  command void AgendaTask.run() { call Sensing.run(); }
  event void Sensing.done() {
    call Produce.produce(call Evaluation.epoch());
    signal AgendaTask.done();
  }
}
