// The rows of one evaluation, one by one; NULL after the last. A row is valid until the next is asked for.
interface Pull<row_t> {
  command void open(uint8_t epoch);
  command const row_t *next();
}
