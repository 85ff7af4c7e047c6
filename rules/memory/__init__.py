"""Layouts, copies and access patterns: bytes moved that need not move."""
