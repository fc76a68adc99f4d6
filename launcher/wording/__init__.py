"""Words and widths of texts for people."""
