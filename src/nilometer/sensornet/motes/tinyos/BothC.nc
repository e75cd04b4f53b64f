// What comes from two trays: a site's own tuples and those of others, or, where it merges, what its producers sent and what its own
// instances farther out have merged.
generic module BothC(typedef row_t) {
  provides interface Pull<row_t>;
  uses interface Pull<row_t> as First;
  uses interface Pull<row_t> as Second;
}
implementation {
  command void Pull.begin(uint8_t epoch) {
    call First.begin(epoch);
    call Second.begin(epoch);
  }
  command bool Pull.open() {
    bool first = call First.open(), second = call Second.open();
    return first || second;
  }
  command const row_t *Pull.next() {
    const row_t *row = call First.next();
    return row ? row : call Second.next();
  }
}
