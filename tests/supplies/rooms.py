"""The rooms of the source and the doors beside them."""

ROOMS = ("core", "tables", "engines", "synthesis", "metrics", "auditing", "workflows", "render", "cli")
"""From the ground up: a room imports only from itself and from the rooms before it."""
DOORS = {
    "errors": "core",
    "version": "core",
    "datasets": "tables",
    "protocols": "engines",
    "testing": "auditing",
    "__main__": "cli",
}
"""The public doors beside the rooms; each counts to the last room that it looks into."""
