"""DHTJoin's experiments (paper, section 6): traffic against RJoin, outages, and dissemination with failures."""
