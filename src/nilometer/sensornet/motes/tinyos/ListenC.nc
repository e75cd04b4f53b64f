// Hands each message to whom listens to its sender.
module ListenC {
  provides interface Heard[uint8_t source];
  uses interface Receive;
  uses interface AMPacket;
}
implementation {
  event message_t *Receive.receive(message_t *message, void *content, uint8_t length) {
    signal Heard.heard[call AMPacket.source(message)](content, length);
    return message;
  }
  default event void Heard.heard[uint8_t source](const uint8_t *content, uint8_t length) { }
}
