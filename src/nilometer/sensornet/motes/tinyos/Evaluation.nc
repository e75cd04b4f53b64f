// Which evaluation it is.
interface Evaluation {
  command uint8_t epoch();                 // in this period, while acquiring
  command uint32_t number(uint8_t epoch);  // since the start
}
