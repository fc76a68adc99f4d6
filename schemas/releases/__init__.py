"""What differs between releases, as data: each row says since when, until when, and where it was seen."""
