// A sensor on a channel of the ATmega128's converter.
generic configuration ChannelC(uint8_t channel) { provides interface Read<uint16_t>; }
implementation {
  components new AdcReadClientC(), new ChannelP(channel);
  Read = AdcReadClientC;
  AdcReadClientC.Atm128AdcConfig -> ChannelP;
  AdcReadClientC.ResourceConfigure -> ChannelP;
}
