"""What a JSON Schema says against a document: as much of the language as our own schema speaks.

Another word in a schema is an error, so that nothing is promised that is not looked at.
"""

KNOWN = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
}
KNOWN |= {
    "anyOf",
    "const",
    "enum",
    "$ref",
    "$defs",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
}
KNOWN |= {"maxLength", "pattern"}
SILENT = {"$schema", "title", "description", "default", "format"}
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


def faults(schema, found, root=None, where=""):
    """Say what of a document is not as the schema wants it, with the place of each."""
    root = schema if root is None else root
    unknown = set(schema) - KNOWN - SILENT
    assert not unknown, f"nobody looks at {unknown}"
    if "$ref" in schema:
        yield from faults(root["$defs"][schema["$ref"].removeprefix("#/$defs/")], found, root, where)
    if "anyOf" in schema and all(
        any(True for _ in faults(one, found, root, where)) for one in schema["anyOf"]
    ):
        yield f"{where}: fits none of {len(schema['anyOf'])}"
    if "const" in schema and found != schema["const"]:
        yield f"{where}: must be {schema['const']!r}"
    if "enum" in schema and found not in schema["enum"]:
        yield f"{where}: must be one of {schema['enum']}"
    kind = schema.get("type")
    if kind and (not isinstance(found, TYPES[kind]) or (kind != "boolean" and isinstance(found, bool))):
        yield f"{where}: must be {kind}"
    elif isinstance(found, dict):
        yield from _of_object(schema, found, root, where)
    elif isinstance(found, list):
        yield from _of_array(schema, found, root, where)
    elif isinstance(found, (int, float)) and not isinstance(found, bool):
        yield from _of_number(schema, found, where)
    elif isinstance(found, str) and len(found) > schema.get("maxLength", len(found)):
        yield f"{where}: too long"


def _of_object(schema, found, root, where):
    yield from (f"{where}: lacks {name}" for name in schema.get("required", ()) if name not in found)
    told, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, item in found.items():
        if name in told:
            yield from faults(told[name], item, root, f"{where}/{name}")
        elif isinstance(others, dict):
            yield from faults(others, item, root, f"{where}/{name}")
        elif not others:
            yield f"{where}: has {name}, which is none of its fields"


def _of_array(schema, found, root, where):
    first = schema.get("prefixItems", [])
    for place, item in enumerate(found):
        of = first[place] if place < len(first) else schema.get("items", {})
        yield from faults(of if isinstance(of, dict) else {}, item, root, f"{where}/{place}")
    if not schema.get("minItems", 0) <= len(found) <= schema.get("maxItems", len(found)):
        yield f"{where}: has {len(found)} items"


def _of_number(schema, found, where):
    inside = schema.get("minimum", found) <= found <= schema.get("maximum", found)
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if not inside or (above is not None and found <= above) or (below is not None and found >= below):
        yield f"{where}: {found} is beyond its bounds"
