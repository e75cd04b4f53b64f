generic configuration AdcReadClientC() {
  provides interface Read<uint16_t>;
  uses interface Atm128AdcConfig;
  uses interface ResourceConfigure;
}
implementation {
  components AdcP;
  enum { CLIENT = unique("AdcP") };
  Read = AdcP.Read[CLIENT];
  Atm128AdcConfig = AdcP.Atm128AdcConfig[CLIENT];
  ResourceConfigure = AdcP.ResourceConfigure[CLIENT];
}
