generic module TrayC(typedef row_t, uint16_t capacity) {
  provides interface Tray<row_t>;
  provides interface RawTray;
  provides interface Clear;
}
implementation {
  row_t rows[capacity];
  uint16_t count;

  command row_t *Tray.add() {
    if (count < capacity) count++;
    return &rows[count - 1];
  }
  command uint8_t RawTray.size() { return sizeof(row_t); }
  command uint16_t RawTray.count() { return count; }
  command const uint8_t *RawTray.get(uint16_t index) { return (const uint8_t *)&rows[index]; }
  command void RawTray.put(const uint8_t *tuple) { memcpy(call Tray.add(), tuple, sizeof(row_t)); }
  command void RawTray.clear() { count = 0; }
  command void Clear.clear() { count = 0; }
}
