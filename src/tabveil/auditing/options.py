"""Every option of an audit, declared once: what it holds, and how it is asked for and explained.

The request validates what is declared here, ``tabveil audit`` offers it, files hold it by the same names, and
the table of options in the documentation is made from it. To add one, declare it here, name it in the
signature of :func:`tabveil.audit`, and use it. Nothing heavy is imported: ``--help`` reads this.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

if TYPE_CHECKING:
    from tabveil.auditing.attackers import Attacker
    from tabveil.auditing.policy import Policy
    from tabveil.tables.reading.declare import SchemaFile
else:  # what the request makes of them, by reading
    Attacker = Policy = SchemaFile = Any

Columns = tuple[str, ...]


@dataclass(kw_only=True, repr=False, eq=False)
class Option:
    """How an option is asked for on the command line, and explained to those who use Python.

    ``metavar`` is what stands for its value in the help: ``FILE`` is a path that starts at the folder of the
    file in which it is given, ``N`` a number of at least ``least``, ``NUMBER`` any number. An option with
    ``switches`` is a flag; one without ``help`` is none of the command line. ``told`` is its meaning in the
    table for Python; one without shares the row before it. ``name`` is what users call it, where the request
    cannot.
    """

    help: str = ""
    metavar: str | None = None
    switches: str | None = None
    least: int | None = None
    repeatable: bool = False
    told: str = ""
    name: str | None = None

    @property
    def kind(self) -> Any:  # noqa: ANN401 - a type
        """What the command line reads it as."""
        if self.switches:
            return bool
        kind = {"FILE": Path, "N": int, "NUMBER": float}.get(self.metavar or "", str)
        return list[kind] if self.repeatable else kind  # type: ignore[valid-type] # made here


@dataclass(init=False, repr=False, eq=False)  # never made, only read: what is left out starts sooner
class AuditOptions:
    """The options, with their defaults; see :func:`tabveil.audit` for what each means."""

    train: Annotated[Any, Option(metavar="FILE", help="The real rows the generator learned from.")] = None
    synthetic: Annotated[Any, Option(metavar="FILE", help="The rows to be released.")] = None
    control: Annotated[
        Any, Option(metavar="FILE", help="Real rows the generator never saw. Give them if you can.")
    ] = None
    tables: Annotated[
        Any,  # what read_database takes; None: each table is one file
        Option(
            metavar="FILE",
            help="Linked tables: a file that says how they hang together and where they are (YAML, JSON).",
            told="[linked tables](linked.md): a file or mapping that says how they hang together, or SDV's "
            "`metadata.json` with the person's table; `train`, `synthetic` and `control` are then folders "
            "with one file a table, or mappings of tables",
        ),
    ] = None
    metadata: Annotated[
        Any,
        Option(metavar="FILE", help="Linked tables: SDV's metadata.json instead of --tables."),
    ] = None
    person_table: Annotated[
        str | None,
        Option(metavar="TABLE", help="The person's table, where --metadata does not tell."),
    ] = None
    title: Annotated[
        str,
        Option(
            metavar="TEXT",
            help="Name of release, dataset and organization, for the report; else the file's name.",
            told="what the report is called: release, dataset, organization; the released file's name if "
            "left out",
        ),
    ] = ""
    column_types: Annotated[
        Path | SchemaFile | None,
        Option(
            name="schema",
            metavar="FILE",
            help="Column types, as written by 'tabveil schema'.",
            told="types, texts that mean missing, identifiers to leave out",
        ),
    ] = None
    missing: Annotated[
        Columns,
        Option(
            metavar="TEXT",
            repeatable=True,
            help="A text that stands for a missing value, such as '?'. Repeatable.",
        ),
    ] = ()
    drop_identifiers: Annotated[
        bool,
        Option(
            switches="--drop-identifiers/--keep-all",
            help="Leave out columns that look like identifiers, also those that the release lacks.",
        ),
    ] = False
    drop: Annotated[
        Columns,
        Option(
            metavar="COLUMN",
            repeatable=True,
            help="Leave out a column, also one that not all tables have, such as an index. Repeatable.",
            told="columns to leave out, also such that not all tables have",
        ),
    ] = ()
    independent_rows: Annotated[
        bool,
        Option(
            switches="--independent-rows/--look-for-people",
            help="Every row is another person, also where a column looks as if it named people with several.",
            told="every row is another person, also where a column looks as if it named people with several",
        ),
    ] = False
    person: Annotated[
        str | None,  # None: the schema's, or none
        Option(
            metavar="COLUMN",
            help="Column that says whose row it is, where people have several: people are then attacked and "
            "counted, not rows.",
            told="the column that says whose row it is, where [people have several](people.md)",
        ),
    ] = None
    metrics: Annotated[
        tuple[Any, ...] | None,  # of MetricChoice and Metric; None: all that need no extra
        Option(
            metavar="NAME",
            repeatable=True,
            help="Run only this one (see 'tabveil metrics'), or '{name: NAME, parameter: value}'. "
            "Repeatable.",
            told='names, names with parameters (`{"name": "linkability", "n_neighbors": [1]}`) or metric '
            "objects; all that need no extra and wait for no request if left out",
        ),
    ] = None
    quick: Annotated[
        bool,
        Option(
            switches="--quick/--no-quick",
            help="Leave out what takes longer than seconds.",
            told="leave out what takes longer than seconds",
        ),
    ] = False
    contrastive: Annotated[
        Any,  # a Contrastive: how the embedding is trained; None: there is none
        Option(
            switches="--contrastive/--no-contrastive",
            help="Also attack in a space learned from the release. Takes minutes; needs the extra 'deep'.",
            told="also attack in a [contrastive embedding](contrastive.md) of the release; True, or a "
            "`Contrastive` that says how it is trained",
        ),
    ] = None
    secrets: Annotated[
        Columns | None,
        Option(
            metavar="COLUMN",
            repeatable=True,
            help="A column attackers want to learn. Repeatable; chosen if left out.",
            told="the columns attackers want to learn, and those they know of a person",
        ),
    ] = None
    known: Annotated[
        Columns | None,
        Option(
            metavar="COLUMN",
            repeatable=True,
            help="A column attackers know of a person. Repeatable; else all others.",
        ),
    ] = None
    auxiliary: Annotated[
        tuple[tuple[Columns, Columns], ...] | None,
        Option(
            metavar="A,B|C,D",
            repeatable=True,
            help="Two sets of columns that attackers want to link. Repeatable.",
            told="pairs of sets of columns that an attacker wants to link",
        ),
    ] = None
    quasi_identifiers: Annotated[
        Columns,
        Option(
            metavar="COLUMN",
            repeatable=True,
            help="A column others may know of a person: measures k, l and t, which are no attacks. "
            "Repeatable.",
            told="also measure [properties](anonymize.md#properties-on-the-audits-page) of train and "
            "release: the columns others may know, and those they should not learn (the secrets, if "
            "left out)",
        ),
    ] = ()
    sensitive: Annotated[
        Columns | None,  # None: the secrets that are no quasi-identifiers
        Option(
            metavar="COLUMN",
            repeatable=True,
            help="A column for l and t. Repeatable; else secrets that are no quasi-identifiers.",
        ),
    ] = None
    attackers: Annotated[
        tuple[Attacker, ...],
        Option(
            metavar="FILE",
            help="Attacker profiles: who knows and wants what (YAML, JSON).",
            told="a file or mapping of attacker profiles",
        ),
    ] = ()
    policy: Annotated[
        Policy | None,  # None: the default one, and nobody asked to be judged by it
        Option(
            metavar="FILE",
            help="Accepted risks, as written by 'tabveil policy'. Sets the exit code.",
            told="a file or mapping of [accepted risks](policy.md)",
        ),
    ] = None
    utility: Annotated[
        bool,
        Option(
            switches="--utility/--no-utility",
            help="Measure usefulness too. On if there is a page.",
            told="also measure how useful the release is, with models that predict the target columns",
        ),
    ] = False
    target: Annotated[
        Columns,
        Option(
            metavar="COLUMN",
            repeatable=True,
            help="A column models should predict (for usefulness). Repeatable.",
        ),
    ] = ()
    shadow: Annotated[
        Any,  # what an attack found: a file, or a ShadowResult
        Option(
            metavar="FILE",
            help="Show what 'tabveil attack --json' found about the generator.",
            told="what [`tabveil.attack`](black_box.md) found about the generator, or the file of it: the "
            "report shows it",
        ),
    ] = None
    power: Annotated[
        bool | Literal["affordable"],  # affordable: but for what takes minutes
        Option(
            switches="--power/--no-power",
            help="Plant leaks to see which are noticed. On if there is a page, but for metrics that fit "
            "models.",
            told="also find out which leaks this audit would have seen",
        ),
    ] = False
    portrait: Annotated[bool, Option(told="also compute what the HTML page draws")] = False
    advice: Annotated[
        bool,
        Option(
            switches="--advice/--no-advice",
            help="Where the verdict is above or inconclusive, try what would change it. On unless turned "
            "off.",
            told="where the verdict is above or inconclusive, try [what would change it]"
            "(reading.md#what-next); on unless False",
        ),
    ] = True
    initial_risk: Annotated[
        bool,
        Option(
            switches="--initial-risk/--no-initial-risk",
            help="Also attack the training rows as if they were released, to show beside. Takes as long as "
            "the attacks, once more.",
            told="also attack the training rows as if they were released: the "
            "[risk before](reading.md#initial-and-residual-risk), beside that of the release; takes as long "
            "as the attacks, once more",
        ),
    ] = False
    claimed_epsilon: Annotated[
        float | None,
        Option(
            metavar="NUMBER",
            help="The ε that the generator states: does this release refute it? Needs --split.",
            told="the ε and δ that the generator states, and whether neighbors are tables of which a row is "
            'added or removed (`"add-remove"`) or replaced (`"replace"`): [is it refuted]'
            "(epsilon.md#from-a-release-alone)?",
        ),
    ] = None
    delta: Annotated[float, Option(metavar="NUMBER", help="The δ that goes with it; 0 if left out.")] = 0.0
    neighbors: Annotated[
        Literal["add-remove", "replace"],
        Option(
            metavar="KIND",
            help="What the stated ε is about: a row (or person) that is added or removed (add-remove), or "
            "replaced by another (replace).",
        ),
    ] = "add-remove"
    split: Annotated[
        Any,  # a file, a mapping, or a SplitRecord
        Option(
            metavar="FILE",
            help="How 'tabveil split' divided train and control: the split.json beside them.",
            told="the record of `tabveil split` (`split.json`), which proves that train and control were "
            "divided by lot",
        ),
    ] = None
    show_values: Annotated[
        bool,
        Option(
            switches="--show-values/--hide-values",
            help="Show values of people at risk, and rare labels. Sensitive.",
            told="add values of the people most at risk; [sensitive](tool_privacy.md#the-two-exceptions)",
        ),
    ] = False
    seed: Annotated[
        int,
        Option(
            metavar="N",
            least=0,
            help="Same seed, same numbers; 0 if left out.",
            told="the same seed gives the same numbers, on any number of threads",
        ),
    ] = 0
    scheduler: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            help="A Dask scheduler whose workers take the metrics, tls:// beyond this machine.",
            told="the address of a [Dask scheduler](benchmark.md#a-study) whose workers take the metrics",
        ),
    ] = None
    threads: Annotated[
        int | None,
        Option(
            metavar="N",
            least=1,
            help="How many threads to use; all cores if left out.",
            told="how many threads; a function that is told how far the audit is",
        ),
    ] = None
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        Option(
            metavar="NAME",
            help="Where rows are searched: cpu, cuda (a GPU), or auto: on a GPU where that is faster. The "
            "answers are the same.",
            told="where rows are searched: `cpu`, `cuda` (a GPU), or `auto`, which takes a GPU where that is "
            "faster; the answers are the same",
        ),
    ] = "auto"
    memory: Annotated[
        int | None,
        Option(
            metavar="SIZE",
            help="How much memory the audit may take, such as 2GiB; all there is if left out.",
            told='how much memory the audit may take, such as `"2GiB"`; '
            "[tables larger than that](large.md) stand on disk meanwhile",
        ),
    ] = None
    sample: Annotated[
        int | None,
        Option(
            metavar="N",
            least=1,
            help="Attack N people each of train and control, drawn at random; the release stays whole. "
            "Everybody if left out.",
            told="attack so many people each of train and control, drawn at random, "
            "[in the whole release](large.md#a-sample)",
        ),
    ] = None


OPTIONS: dict[str, Option] = {
    name: next(item for item in hint.__metadata__ if isinstance(item, Option))
    for name, hint in get_type_hints(AuditOptions, include_extras=True).items()
}
"""How every option is asked for, by its field of the request."""
