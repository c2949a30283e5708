"""Files, tables and matrices: how rows come in, are encoded, and leave as they came."""
