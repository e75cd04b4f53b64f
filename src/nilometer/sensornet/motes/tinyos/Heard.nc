// A message of one neighbour.
interface Heard {
  event void heard(const uint8_t *content, uint8_t length);
}
