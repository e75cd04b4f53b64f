// EXCHANGE, the consuming part: the tuples of an evaluation out of a tray.
generic module ConsumerC(typedef row_t) {
  provides interface Pull<row_t>;
  uses interface RawTray as Input;
}
implementation {
  uint8_t wanted;
  uint16_t at;

  command void Pull.open(uint8_t epoch) {
    wanted = epoch;
    at = 0;
  }
  command const row_t *Pull.next() {
    while (at < call Input.count()) {
      const uint8_t *tuple = call Input.get(at++);
      if (*tuple == wanted) return (const row_t *)tuple;
    }
    return NULL;
  }
}
