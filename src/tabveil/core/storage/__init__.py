"""Files as they are read and written: bounded, checked, whole or not at all."""
