"""The papers' own Texas and census files, for those who have them: none is shipped.

Both come from their owners, under terms of their own. Of their columns those are kept that the papers used.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tabveil.core import check
from tabveil.core.check import listed
from tabveil.core.rng import stream
from tabveil.core.table import Table
from tabveil.core.wording import plural
from tabveil.errors import SchemaError
from tabveil.tables.reading import load_table, sources, take_rows


@dataclass(frozen=True, kw_only=True)
class _PublicFile:
    """The rows of a file with the columns that the papers used, so many of them at random."""

    file: Path
    rows: int

    name: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    spelled: ClassVar[Mapping[str, str]] = {}  # in the file itself, where the papers write otherwise
    types: ClassVar[Mapping[str, Any]] = {}
    origin: ClassVar[str]

    def __post_init__(self) -> None:
        check.at_least(self.name, "rows", self.rows, 1)

    def load(self) -> Table:
        """Read the file, and draw the rows: always the same ones."""
        if not self.file.exists():
            raise SchemaError(self.name, f"there is no file {self.file}. {self.origin}")
        whole = sources.read(self.file, "data")
        there = {name.strip().upper(): name for name in whole.data.column_names}
        found = {name: there.get(name) or there.get(self.spelled.get(name, "")) for name in self.columns}
        missing = [name for name, own in found.items() if own is None]
        if missing:
            raise SchemaError(
                self.name,
                f"{self.file.name} lacks {plural(len(missing), 'column')} of {len(self.columns)}: "
                f"{listed(missing)}. {self.origin}",
            )
        check.at_most(self.name, "rows", self.rows, whole.data.num_rows)
        drawn = np.sort(stream(0, "sample").permutation(whole.data.num_rows)[: self.rows])
        rows = take_rows(whole.data.select([str(own) for own in found.values()]), drawn)
        named = replace(whole, data=rows.rename_columns(list(found)), labels=tuple(found), sha256=None)
        return load_table(named, schema={"columns": dict(self.types)}).table


TEXAS_NUMBERS = (
    "LENGTH_OF_STAY", "TOTAL_CHARGES", "TOTAL_CHARGES_ACCOMM", "TOTAL_CHARGES_ANCEIL",
    "TOTAL_NON_COV_CHARGES", "TOTAL_NON_COV_CHARGES_ACCOMM", "TOTAL_NON_COV_CHARGES_ANCEIL",
)  # fmt: skip
TEXAS_LABELS = (
    "ADMIT_WEEKDAY", "APR_DRG", "APR_MDC", "CERT_STATUS", "COUNTY", "ETHNICITY", "FIRST_PAYMENT_SRC",
    "ILLNESS_SEVERITY", "PAT_AGE", "PAT_COUNTRY", "PAT_STATE", "PAT_STATUS", "PAT_ZIP", "PRINC_DIAG_CODE",
    "PROVIDER_NAME", "PUBLIC_HEALTH_REGION", "RACE", "RISK_MORTALITY", "SEX_CODE", "SOURCE_OF_ADMISSION",
    "TYPE_OF_ADMISSION",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Texas(_PublicFile):
    """The Texas Inpatient Public Use Data File, in the 28 columns of the papers (arXiv:2512.16284, table 4).

    Its 21 columns of codes are labels, whatever they look like; the papers count as many. ``ANCIL``, as the
    file may write it, is the papers' ``ANCEIL``.

    Parameters
    ----------
    file
        The file (CSV, tab-separated text, Parquet); in a configuration, seen from the folder of that file.
    rows
        How many rows are drawn at random; always the same ones.
    """

    rows: int = 60_000

    name: ClassVar[str] = "texas"
    columns: ClassVar[tuple[str, ...]] = tuple(sorted((*TEXAS_NUMBERS, *TEXAS_LABELS)))
    spelled: ClassVar[Mapping[str, str]] = {
        name: name.replace("ANCEIL", "ANCIL") for name in TEXAS_NUMBERS if "ANCEIL" in name
    }
    types: ClassVar[Mapping[str, Any]] = {
        **{name: {"type": "real"} for name in TEXAS_NUMBERS},
        **{name: {"type": "category"} for name in TEXAS_LABELS},
    }
    origin: ClassVar[str] = (
        "The Texas Inpatient Public Use Data File comes from the Texas Department of State Health Services "
        "(Texas Health Care Information Collection)."
    )


@dataclass(frozen=True, kw_only=True)
class Census1940(_PublicFile):
    """The census of 1940 from IPUMS USA, in the 37 columns of the papers (arXiv:2512.16284, table 4).

    The papers count 26 columns of numbers and 11 of labels and do not say which. So types are those that a
    file shows: an extract with labels in the place of codes has more columns of labels.

    Parameters
    ----------
    file
        The extract (CSV, Parquet); in a configuration, seen from the folder of that file.
    rows
        How many rows are drawn at random; always the same ones.
    """

    rows: int = 75_000

    name: ClassVar[str] = "census_1940"
    columns: ClassVar[tuple[str, ...]] = (
        "AGE", "AGEMARR", "AGEMONTH", "BPL", "CHBORN", "CITIZEN", "EDUC", "ELDCH", "EMPSTAT", "FAMSIZE",
        "HIGRADE", "HISPAN", "HRSWORK1", "INCWAGE", "IND1950", "MARST", "MBPL", "MOMRULE_HIST", "MTONGUE",
        "NATIVITY", "NCHILD", "NSIBS", "OCC1950", "POPLOC", "POPRULE_HIST", "RACE", "RELATE", "RELATED",
        "SEX", "SPLOC", "SPRULE_HIST", "STEPMOM", "STEPPOP", "SUBFAM", "UOCC", "WKSWORK1", "YNGCH",
    )  # fmt: skip
    origin: ClassVar[str] = (
        "The full enumeration of 1940 is an extract of IPUMS USA (doi:10.18128/D010.V8.0.EXT1940USCB)."
    )
