"""Workbooks made by hand: the few parts of the .xlsx format that a table of cells needs."""

import io
import zipfile
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"

STYLES = {"general": 0, "date": 1, "datetime": 2, "time": 3, "hours": 4, "percent": 5}
"""The formats of cells that the style sheet knows."""

_FORMATS = (0, 14, 22, 20, 164, 9)


class Cell(str):
    """The rest of a cell's XML, after its place."""

    __slots__ = ()


def text(value):
    return Cell(f't="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is>')


def number(value, style="general"):
    return Cell(f's="{STYLES[style]}"><v>{value}</v>')


def truth(value):
    return Cell(f't="b"><v>{int(value)}</v>')


def error(value="#N/A"):
    return Cell(f't="e"><v>{value}</v>')


def rows(*lines):
    """Return the XML of rows of cells; None is an empty cell, and what is no cell of its own is text."""
    made = []
    for row, line in enumerate(lines, 1):
        cells = [(column, _cell(cell)) for column, cell in enumerate(line) if cell is not None]
        inner = "".join(f'<c r="{chr(65 + column)}{row}" {cell}</c>' for column, cell in cells)
        made.append(f'<row r="{row}">{inner}</row>')
    return "".join(made)


def _cell(cell):
    match cell:
        case Cell():
            return cell
        case bool():
            return truth(cell)
        case str():
            return text(cell)
    return number(cell)


def workbook(*sheets, hidden=(), extra=None, compression=zipfile.ZIP_DEFLATED):
    """Return the bytes of a workbook; a sheet is the XML of its rows."""
    numbers = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name="Sheet {i}" sheetId="{i}" r:id="rId{i}"{_state(i, hidden)}/>' for i in numbers
    )
    links = "".join(
        f'<Relationship Id="rId{i}" Type="{LINKS}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in numbers
    )
    package = f'xmlns="{PACKAGE}/relationships"'
    opening = f'<worksheet xmlns="{MAIN}">'
    formats = "".join(f'<xf numFmtId="{code}"/>' for code in _FORMATS)
    made = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"/>',
        "_rels/.rels": f'<Relationships {package}><Relationship Id="rId1" '
        f'Type="{LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f"<Relationships {package}>{links}</Relationships>",
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts count="1"><numFmt numFmtId="164" '
        f'formatCode="[h]:mm"/></numFmts><cellXfs count="{len(_FORMATS)}">{formats}</cellXfs></styleSheet>',
        **{
            f"xl/worksheets/sheet{i}.xml": f"{opening}<sheetData>{cells}</sheetData></worksheet>"
            for i, cells in zip(numbers, sheets, strict=True)
        },
        **(extra or {}),
    }
    return pack(made, compression)


def pack(parts, compression=zipfile.ZIP_DEFLATED):
    """Return the bytes of a workbook of these parts."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", compression) as packed:
        for name, part in parts.items():
            packed.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), part, compression)
    return sink.getvalue()


def parts(data):
    """Return the parts of a workbook that was made here."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return {name: packed.read(name).decode() for name in packed.namelist()}


def _state(number, hidden):
    return ' state="hidden"' if number in hidden else ""
