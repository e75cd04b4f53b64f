// EXCHANGE, the consuming part of a merge: what its producers sent, and what its own instances farther out have merged.
generic module TwoTraysConsumerC(typedef row_t) {
  provides interface Pull<row_t>;
  uses interface RawTray as First;
  uses interface RawTray as Second;
}
implementation {
  uint8_t wanted;
  uint16_t at;

  command void Pull.open(uint8_t epoch) {
    wanted = epoch;
    at = 0;
  }
  command const row_t *Pull.next() {
    while (at < call First.count() + call Second.count()) {
      uint16_t index = at++;
      const uint8_t *tuple =
          index < call First.count() ? call First.get(index) : call Second.get(index - call First.count());
      if (*tuple == wanted) return (const row_t *)tuple;
    }
    return NULL;
  }
}
