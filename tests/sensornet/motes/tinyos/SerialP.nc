// TinyOS's serial packets (TEP 113) on USART0, 57,600 Bd, sent without acknowledgement:
// 0x7E | 0x45 | 0x00 | to(2) from(2) length group type | data | CRC-16, low byte first | 0x7E. Within them 0x7E and 0x7D are escaped.
module SerialP {
  provides interface SplitControl;
  provides interface AMSend[am_id_t id];
}
implementation {
  enum { FLAG = 0x7E, ESCAPE = 0x7D, FLIP = 0x20, NO_ACKNOWLEDGEMENT = 0x45, ACTIVE_MESSAGE = 0, GROUP = 0x22 };
  enum { PROTOCOL, DISPATCH, CONTENT, CHECK_LOW, CHECK_HIGH, END, FINISHED };

  message_t *outgoing;
  norace const uint8_t *next;
  norace uint8_t left, part, flipped;
  norace bool escaped;
  norace uint16_t check;

  task void started() { signal SplitControl.startDone(SUCCESS); }
  task void stopped() { signal SplitControl.stopDone(SUCCESS); }
  task void sent() {
    message_t *message = outgoing;
    outgoing = NULL;
    signal AMSend.sendDone[message->header[6]](message, SUCCESS);
  }

  command error_t SplitControl.start() {
    UBRR0L = 7;
    UCSR0C = 1 << UCSZ01 | 1 << UCSZ00;
    UCSR0A = 1 << TXC0;
    UCSR0B = 1 << TXEN0 | 1 << TXCIE0;
    post started();
    return SUCCESS;
  }
  command error_t SplitControl.stop() {
    UCSR0B = 0;
    post stopped();
    return SUCCESS;
  }

  INTERRUPT(USART0_TX_vect) {
    uint8_t byte;
    if (escaped) {
      escaped = FALSE;
      UDR0 = flipped;
      return;
    }
    switch (part) {
      case PROTOCOL: byte = NO_ACKNOWLEDGEMENT; part = DISPATCH; break;
      case DISPATCH: byte = ACTIVE_MESSAGE; part = CONTENT; break;
      case CONTENT: byte = *next++; if (!--left) part = CHECK_LOW; break;
      case CHECK_LOW: byte = check; part = CHECK_HIGH; break;
      case CHECK_HIGH: byte = check >> 8; part = END; break;
      case END: part = FINISHED; UDR0 = FLAG; return;
      default: post sent(); return;
    }
    if (part <= CHECK_LOW) check = _crc_xmodem_update(check, byte);
    if (byte == FLAG || byte == ESCAPE) {
      escaped = TRUE;
      flipped = byte ^ FLIP;
      byte = ESCAPE;
    }
    UDR0 = byte;
  }

  command error_t AMSend.send[am_id_t id](am_addr_t addr, message_t *msg, uint8_t len) {
    if (outgoing || len > TOSH_DATA_LENGTH) return FAIL;
    outgoing = msg;
    msg->header[0] = addr >> 8;
    msg->header[1] = addr;
    msg->header[2] = (uint16_t)TOS_NODE_ID >> 8;
    msg->header[3] = TOS_NODE_ID;
    msg->header[4] = len;
    msg->header[5] = GROUP;
    msg->header[6] = id;
    next = msg->header;
    left = SERIAL_HEADER + len;
    part = PROTOCOL;
    check = 0;
    UDR0 = FLAG;
    return SUCCESS;
  }
  command void *AMSend.getPayload[am_id_t id](message_t *msg, uint8_t len) { return len <= TOSH_DATA_LENGTH ? msg->data : NULL; }
  command uint8_t AMSend.maxPayloadLength[am_id_t id]() { return TOSH_DATA_LENGTH; }
  default event void AMSend.sendDone[am_id_t id](message_t *msg, error_t error) { }
}
