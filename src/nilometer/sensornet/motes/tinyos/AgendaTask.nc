// A task of the agenda: a fragment's evaluation, a transmission, a reception.
interface AgendaTask {
  command void run();
  event void done();
}
