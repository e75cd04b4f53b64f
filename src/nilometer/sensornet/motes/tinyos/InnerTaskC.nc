// The task of a fragment that others feed: all evaluations of the period, then its trays are empty again.
generic module InnerTaskC(uint8_t beta) {
  provides interface AgendaTask;
  uses interface Produce;
  uses interface Clear as Input;
}
implementation {
  command void AgendaTask.run() {
    uint8_t epoch;
    for (epoch = 0; epoch < beta; epoch++) call Produce.produce(epoch);
    call Input.clear();
    signal AgendaTask.done();
  }
}
