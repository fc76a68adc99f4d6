"""Values that a release refuses or misreads: what PD007 and PD004 look at."""
