interface ResourceConfigure {
  async command void configure();
  async command void unconfigure();
}
