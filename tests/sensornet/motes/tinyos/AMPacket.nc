interface AMPacket { command am_addr_t source(message_t *msg); }
