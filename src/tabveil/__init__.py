"""Audit, benchmark and synthesize tables about people."""
