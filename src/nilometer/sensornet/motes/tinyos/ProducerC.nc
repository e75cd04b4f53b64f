// EXCHANGE, the producing part: the rows of an evaluation onto a tray.
generic module ProducerC(typedef row_t) {
  provides interface Produce;
  uses interface Pull<row_t> as Input;
  uses interface Tray<row_t> as Output;
}
implementation {
  command void Produce.produce(uint8_t epoch) {
    const row_t *row;
    call Input.begin(epoch);
    while (call Input.open()) {
      while ((row = call Input.next())) {
        row_t *made = call Output.add();
        *made = *row;
        *(uint8_t *)made = epoch;
      }
    }
  }
}
