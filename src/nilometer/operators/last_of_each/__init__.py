"""The last tuple of each source at given moments: LATEST and RESAMPLE."""
