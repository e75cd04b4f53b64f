// EXCHANGE, the consuming part: the tuples of an evaluation out of a tray.
generic module ConsumerC(typedef row_t) {
  provides interface Pull<row_t>;
  uses interface RawTray as Input;
}
implementation {
  uint8_t wanted;
  bool opened;
  uint16_t at;

  command void Pull.begin(uint8_t epoch) {
    wanted = epoch;
    opened = FALSE;
    at = 0;
  }
  command bool Pull.open() { return opened ? FALSE : (opened = TRUE); }
  command const row_t *Pull.next() {
    for (; at < call Input.count(); at++) {
      const uint8_t *tuple = call Input.get(at);
      if (*tuple != wanted) continue;
      at++;
      return (const row_t *)tuple;
    }
    return NULL;
  }
}
