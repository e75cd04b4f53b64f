// A buffer onto which tuples are written by one component and from which they are read by another (SNEE Fig. 23).
interface Tray<row_t> {
  command row_t *add();
}
