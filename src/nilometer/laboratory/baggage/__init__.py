"""IDHM: spectra of boxes, from measurements to templates and decisions (STEAM section 1; mining.md 11)."""
