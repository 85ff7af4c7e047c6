"""Time of a workload on a device: physics with fitted constants, never an opinion about what should change."""
