"""Turns the change of a finding into text edits: one codemod for each kind of change, byte-exact outside the edits."""
