"""The same requests as forms, on a page that this machine alone can open."""
