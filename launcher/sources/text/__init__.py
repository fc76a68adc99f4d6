"""What all readers share: how texts are put together, expanded and bounded, and what kind of file one is."""
