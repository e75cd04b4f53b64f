"""Gateways as peers of one ring: DHTJoin (docs/overlay.md). The core does no input or output and has no clock."""
