// USART1 at 19,200 Bd stands for the radio; its enable bits are the power states. It listens while it is on and does not send.
//
// On the air: 0x55 0x7E | to from type length | data | CRC-16. An address is one byte there.
module RadioP {
  provides interface SplitControl;
  provides interface AMSend[am_id_t id];
  provides interface Receive[am_id_t id];
  provides interface AMPacket;
}
implementation {
  enum { PREAMBLE = 0x55, START = 0x7E };
  enum { OFF = 0, LISTENING = 1 << RXEN1 | 1 << RXCIE1, SENDING = 1 << TXEN1 | 1 << TXCIE1 };
  enum { TO, FROM, TYPE, LENGTH };

  uint8_t *headerOf(message_t *message) { return message->header + SERIAL_HEADER - RADIO_HEADER; }

  // ---- power ----

  task void started() { signal SplitControl.startDone(SUCCESS); }
  task void stopped() { signal SplitControl.stopDone(SUCCESS); }

  norace bool hearing;  // within a message

  command error_t SplitControl.start() {
    UBRR1L = 23;
    UCSR1C = 1 << UCSZ11 | 1 << UCSZ10;
    hearing = FALSE;
    UCSR1B = LISTENING;
    post started();
    return SUCCESS;
  }
  command error_t SplitControl.stop() {
    UCSR1B = OFF;
    post stopped();
    return SUCCESS;
  }

  // ---- sending ----

  message_t *outgoing;
  norace const uint8_t *next;
  norace uint8_t left, tail;  // bytes of header and data, and of what is after them
  norace uint16_t sendingCheck;

  task void sent() {
    message_t *message = outgoing;
    outgoing = NULL;
    signal AMSend.sendDone[headerOf(message)[TYPE]](message, SUCCESS);
  }

  // Driven by "transmit complete" alone, so that the transmitter is never switched off under a byte.
  INTERRUPT(USART1_TX_vect) {
    if (tail == CHECK + 1) {
      UDR1 = START;
      tail = CHECK;
    } else if (left) {
      uint8_t byte = *next++;
      UDR1 = byte;
      left--;
      sendingCheck = _crc_xmodem_update(sendingCheck, byte);
    } else if (tail) {
      UDR1 = tail == CHECK ? sendingCheck >> 8 : sendingCheck;
      tail--;
    } else {
      UCSR1B = LISTENING;
      post sent();
    }
  }

  command error_t AMSend.send[am_id_t id](am_addr_t addr, message_t *msg, uint8_t len) {
    uint8_t *header = headerOf(msg);
    if (outgoing || len > TOSH_DATA_LENGTH) return FAIL;
    outgoing = msg;
    header[TO] = addr;
    header[FROM] = TOS_NODE_ID;
    header[TYPE] = id;
    header[LENGTH] = len;
    next = header;
    left = RADIO_HEADER + len;
    tail = CHECK + 1;
    sendingCheck = 0;
    UCSR1A = 1 << TXC1;
    UCSR1B = SENDING;
    UDR1 = PREAMBLE;
    return SUCCESS;
  }
  command void *AMSend.getPayload[am_id_t id](message_t *msg, uint8_t len) { return len <= TOSH_DATA_LENGTH ? msg->data : NULL; }
  command uint8_t AMSend.maxPayloadLength[am_id_t id]() { return TOSH_DATA_LENGTH; }
  default event void AMSend.sendDone[am_id_t id](message_t *msg, error_t error) { }

  // ---- receiving: one message is heard while another is looked at ----

  message_t buffers[2];
  norace uint8_t filling, at;
  norace bool looking;
  norace uint16_t hearingCheck;

  task void heard() {
    message_t *message = &buffers[1 - filling];
    uint8_t *header = headerOf(message);
    if (header[TO] == TOS_NODE_ID) signal Receive.receive[header[TYPE]](message, message->data, header[LENGTH]);
    looking = FALSE;
  }

  INTERRUPT(USART1_RX_vect) {
    uint8_t byte = UDR1, *header = headerOf(&buffers[filling]);
    if (!hearing) {
      if (byte == START) {
        hearing = TRUE;
        at = 0;
        hearingCheck = 0;
      }
      return;
    }
    header[at++] = byte;
    hearingCheck = _crc_xmodem_update(hearingCheck, byte);
    if (at < RADIO_HEADER) return;
    if (header[LENGTH] > TOSH_DATA_LENGTH) hearing = FALSE;
    else if (at == RADIO_HEADER + header[LENGTH] + CHECK) {
      hearing = FALSE;
      if (hearingCheck) FAULT(FAULT_CHECKSUM);
      else if (looking) FAULT(FAULT_UNHEARD);
      else {
        looking = TRUE;
        filling = 1 - filling;
        post heard();
      }
    }
  }

  command am_addr_t AMPacket.source(message_t *msg) { return headerOf(msg)[FROM]; }
  default event message_t *Receive.receive[am_id_t id](message_t *msg, void *payload, uint8_t len) { return msg; }
}
