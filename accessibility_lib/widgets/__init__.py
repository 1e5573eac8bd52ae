"""Interactive explorers: one folder each, with a Python face, one ES module and its style."""
