"""Tile shapes, grids, warps and stages: how well a launch fills the device."""
