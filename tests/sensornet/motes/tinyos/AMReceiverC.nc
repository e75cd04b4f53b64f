generic module AMReceiverC(am_id_t id) { provides interface Receive; }
implementation { message_t last; void heard() @spontaneous() { signal Receive.receive(&last, last.data, TOSH_DATA_LENGTH); } }
