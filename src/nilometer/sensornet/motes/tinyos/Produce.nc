// Do what is to be done with the rows of an evaluation.
interface Produce {
  command void produce(uint8_t epoch);
}
