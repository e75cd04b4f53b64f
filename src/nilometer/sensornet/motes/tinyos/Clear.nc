// Forget all tuples of a tray.
interface Clear {
  command void clear();
}
