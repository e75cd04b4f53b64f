// The same buffer as the radio sees it: tuples as bytes, each beginning with its evaluation in the period.
interface RawTray {
  command uint8_t size();
  command uint16_t count();
  command const uint8_t *get(uint16_t index);
  command void put(const uint8_t *tuple);
  command void clear();
}
