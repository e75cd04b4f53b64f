// The rows of an evaluation, window by window. A window of time has one in an evaluation, or none between two slides; of rows several may
// close. `next` gives NULL after the last row; a row is valid until the next is asked for.
interface Pull<row_t> {
  command void begin(uint8_t epoch);
  command bool open();  // the next window; FALSE after the last
  command const row_t *next();
}
