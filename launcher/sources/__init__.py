"""One module per input form; each turns a file's text into nodes of the canonical form, with exact origins."""
