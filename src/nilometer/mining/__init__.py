"""Mining operators of STEAM (sections 3.1, 7.2, 7.3): incremental, online, each with a bounded state.

One operator a file. `sequences` cuts the readings of every source into slots, `symbols` gives values their symbols,
`slot_windows` tells an operator which slots a window holds at each evaluation. Kernels are in `nilometer.kernels`.
"""
