// SLIDE: a window that is evaluated once in so many acquisitions.
generic module SlideC(typedef row_t, uint8_t every, uint8_t offset) {
  provides interface Pull<row_t>;
  uses interface Pull<row_t> as Input;
}
implementation {
  uint8_t since = offset;
  bool evaluated;

  command void Pull.begin(uint8_t epoch) {
    call Input.begin(epoch);
    evaluated = since == 0;
    if (++since == every) since = 0;
  }
  command bool Pull.open() { return evaluated && call Input.open(); }
  command const row_t *Pull.next() { return call Input.next(); }
}
