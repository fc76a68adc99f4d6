"""What changes for a user's files between two releases, and writing it."""
