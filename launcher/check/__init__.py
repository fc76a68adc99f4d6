"""Running the rules: what is asked of which release, ignore comments, fixes, several processes."""
