"""Whose expectations this page meets: one row an expectation, and where on the page it is answered, or not.

A row says what a text asks in our words, never in its own, and no number of a clause that was not read. How
far a text was read stands with it: some are sold, some were read in summaries alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tabveil.auditing.policy import RELEASE_MODELS, Framework
from tabveil.auditing.report import Report

NOT_ANSWERED = "not answered"


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """One thing that is asked, where the page answers it (if it does), and what is left to decide."""

    source: str
    asks: str
    places: tuple[tuple[str, str], ...] = ()  # the anchor of a section, and its title
    told: str = ""
    decide: str = ""

    @property
    def answered(self) -> bool:
        """Whether anything on the page answers it."""
        return bool(self.places or self.told)


@dataclass(frozen=True, kw_only=True)
class Checklist:
    """All that one text asks, and how far it was read."""

    title: str
    read: str
    rows: tuple[Expectation, ...]


VERDICT, RISKS, ATTACKED = ("verdict", "Verdict"), ("risks", "The three risks"), ("attacked", "Who attacked")
THREATS, UNTESTED = ("threats", "Threat model"), ("untested", "What was not tested, in full")
COLUMNS, DICTIONARY = ("columns", "Columns"), ("dictionary", "Columns and their treatment")
MEMBERSHIP, UTILITY = ("membership", "Membership"), ("utility", "Utility")
REPEAT, SIGNATURE = ("reproducibility", "Reproducibility"), ("signature", "Sign-off")
COMPARED, GENERATOR, PROPERTIES = ("compared", "What was compared"), ("generator", "Generator"), "properties"
CLAIM, INITIAL, TODO = ("claim", "The stated ε"), ("initial", "Risk before and after"), ("todo", "What to do")


@dataclass(frozen=True, kw_only=True)
class _Answers:
    """The report, and what of it rows ask for again and again."""

    report: Report
    ran: Mapping[str, str]

    def stated(self, *words: str, decide: str = "") -> dict[str, object]:
        """Answer with what the policy says, if it says anything."""
        said = "; ".join(word for word in words if word)
        return {"told": said, "places": (COMPARED,) if said else (), "decide": decide}

    @property
    def model(self) -> str:
        """To whom the release goes."""
        model = self.report.policy.release_model
        return "" if model is None else f"{model}: {RELEASE_MODELS[model]}"

    @property
    def review(self) -> str:
        """When this is looked at again."""
        date = self.report.policy.review_date
        return "" if date is None else f"to be reviewed on {date.isoformat()}"

    @property
    def dictionary(self) -> tuple[tuple[str, str], ...]:
        """Where columns are described."""
        return () if self.report.dictionary is None else (DICTIONARY,)

    @property
    def before(self) -> tuple[tuple[str, str], ...]:
        """Where the risk before the release was made stands."""
        return () if self.report.initial is None else (INITIAL,)

    @property
    def claim(self) -> tuple[tuple[str, str], ...]:
        """Where a stated ε is examined."""
        return () if self.report.claim is None else (CLAIM,)

    @property
    def useful(self) -> tuple[tuple[str, str], ...]:
        """Where usefulness was measured."""
        return () if self.report.utility is None else (UTILITY,)

    @property
    def queried(self) -> tuple[tuple[str, str], ...]:
        """Where attacks on the generator stand."""
        return () if self.report.shadow is None else (GENERATOR,)

    @property
    def measured(self) -> tuple[tuple[str, str], ...]:
        """Where k, l and t stand."""
        return () if self.report.properties is None else ((PROPERTIES, "Properties of the tables"),)


def expectations(report: Report, ran: Mapping[str, str]) -> list[Checklist]:
    """Return what the frameworks of the policy ask, each row with its answer; ``ran`` are the attacks."""
    asked = _Answers(report=report, ran=ran)
    return [
        Checklist(title=title, read=read, rows=tuple(rows(asked)))
        for title, read, rows in (_ALL[name] for name in report.policy.frameworks)
    ]


def _row(source: str, asks: str, *places: tuple[str, str], told: str = "", decide: str = "") -> Expectation:
    return Expectation(source=source, asks=asks, places=places, told=told, decide=decide)


def _said(source: str, asks: str, given: Mapping[str, object]) -> Expectation:
    return Expectation(source=source, asks=asks, **given)  # type: ignore[arg-type] # its own fields


def _wp29(asked: _Answers) -> Sequence[Expectation]:
    policy, opinion = asked.report.policy, "WP29, Opinion 05/2014"
    whom = f"Recipient: {policy.recipient or 'not stated'}; context: {policy.context or 'not stated'}"
    return (
        _row(
            f"{opinion}: singling out",
            "Can some records that identify a person be isolated?",
            RISKS,
            told=asked.ran["singling out"],
            decide="Whether a description that fits one person leads to that person in the recipient's "
            "hands.",
        ),
        _row(
            f"{opinion}: linkability",
            "Can two records about the same person be linked?",
            RISKS,
            told=asked.ran["linkability"],
            decide="Which other tables the recipient holds or can get.",
        ),
        _row(
            f"{opinion}: inference",
            "Can an attribute be deduced with significant probability?",
            RISKS,
            COLUMNS,
            told=asked.ran["inference"],
            decide="Which columns are sensitive, and how much better than chance is too much.",
        ),
        _row(
            "GDPR, Recital 26",
            "Which means are reasonably likely to be used to identify a person, by the controller or anybody "
            "else?",
            THREATS,
            MEMBERSHIP,
            UNTESTED,
            told=asked.ran["membership"],
            decide="Cost, time and technology available to those who may try, now and while the release is "
            "in use.",
        ),
        *_relating_to(asked),
        _row(
            "CJEU C-413/23 P, EDPS v SRB (4 September 2025)",
            "Can this recipient identify people? The answer may differ from recipient to recipient.",
            told=whom,
            decide="A fresh assessment for every other recipient, and before any publication.",
        ),
        _row(
            "GDPR, Articles 5(2) and 35",
            "Can the decision be accounted for; is an impact assessment needed?",
            REPEAT,
            SIGNATURE,
            decide="Filing this page with the assessment, and a date to repeat the audit.",
        ),
    )


def _relating_to(asked: _Answers) -> Sequence[Expectation]:
    """Ask in which of three ways a release may relate to a person: the first alone can be measured."""
    source = "Relating to a person (GDPR, Article 4(1); WP29, Opinion 4/2007, read in summaries)"
    return (
        _row(
            f"{source}: in content",
            "Does the release tell facts about identifiable people, and not only about people in general?",
            RISKS,
            MEMBERSHIP,
            told="gains count what is told of people because they were learned from; what is told of people "
            "never seen as well is subtracted",
            decide="Whether such facts can be tied to a person by those who hold the release.",
        ),
        _said(
            f"{source}: in purpose",
            "Will the release be used to evaluate people, or to treat or influence them in a certain way?",
            asked.stated(
                asked.report.policy.purpose,
                decide="Whether groups are addressed that are small enough to mean a person, such as those "
                "with one illness in one village. No attack measures it.",
            ),
        ),
        _row(
            f"{source}: in result",
            "Will the use of the release affect people's rights or interests, also those of people it was "
            "not made from?",
            decide="Which decisions about people will rest on it. That holds for what is true of a whole "
            "population, too, and no gain counts that.",
        ),
    )


def _edpb(asked: _Answers) -> Sequence[Expectation]:
    return (
        _row(
            "Opinion 28/2024: extraction",
            "Is it insignificantly likely that data of those whose data trained a model are extracted?",
            VERDICT,
            MEMBERSHIP,
            decide="The opinion is about models. A release is what left one; what else the model can tell is "
            "not in it.",
        ),
        _row(
            "Opinion 28/2024: queries",
            "Is it insignificantly likely that such data are obtained by asking the model?",
            *asked.queried,
            decide="Who can ask the generator, and how often (tabveil attack).",
        ),
        _row(
            "Opinion 28/2024: means",
            "Were all means considered that the controller or another person is reasonably likely to use?",
            THREATS,
            UNTESTED,
            decide="Whether what was not tested is within reach of those who may try.",
        ),
        _row(
            "Opinion 28/2024: case by case",
            "Can an authority see on what the claim rests?",
            REPEAT,
            SIGNATURE,
            decide="Keeping the bundle (tabveil bundle) for as long as the release is in use.",
        ),
    )


def _ico(asked: _Answers) -> Sequence[Expectation]:
    policy = asked.report.policy
    who = policy.intruder
    return (
        _row(
            "Risk",
            "Is it sufficiently remote that people are identified, with means reasonably likely to be used?",
            VERDICT,
            THREATS,
            decide="What is sufficiently remote here. A threshold of this page is the controller's.",
        ),
        _said(
            "Access",
            "Who gets the release, and who might want to get it?",
            asked.stated(policy.recipient, asked.model, decide="Who gains from what stands in the release."),
        ),
        _said(
            "Motivated intruder: who",
            "Who is taken to try, and why?",
            {"told": who.who, "decide": "Whether there are others with a motive."},
        ),
        _said(
            "Motivated intruder: skills",
            "What are they able to do?",
            {
                "told": who.skills,
                "decide": "Attacks of this audit take a person with an analyst's tools and time.",
            },
        ),
        _said(
            "Motivated intruder: sources tried",
            "Which sources did somebody really look into, such as registers, newspapers, social networks?",
            {
                "told": "; ".join(who.sources),
                "decide": "An audit tries none: it takes such knowledge from your own tables.",
            },
        ),
        _said(
            "Access by others",
            "Was access without permission considered, such as hacking or a dishonest employee?",
            {"decide": "How the release is kept; no audit of tables can tell."},
        ),
        _said(
            "Release to anybody",
            "Were more robust means used where a release goes to the world at large?",
            asked.stated(asked.model, decide="Whether the thresholds are those for this model of release."),
        ),
        _said("Review", "When is this looked at again?", asked.stated(asked.review)),
    )


def _iso(asked: _Answers) -> Sequence[Expectation]:
    policy = asked.report.policy
    return (
        _said("6.2.2", "Security and privacy practices of those who hold it", asked.stated(policy.context)),
        _said("6.2.3", "Motives and capacity to re-identify", {"told": policy.intruder.who}),
        _said("6.3", "Transparency and impact assessment", {"decide": "Stands in the impact assessment."}),
        _row("7.2", "Features of the data", *asked.dictionary),
        _row("7.3.2", "Maximum or average risk", RISKS, MEMBERSHIP, told="shares of people; outliers apart"),
        _row("7.3.3", "Population or sample-based attack", THREATS, told="beside people never seen"),
        _row("7.3.4", "Data privacy models", *asked.measured, *asked.claim),
        _row("8.2.2", "Quantifying identifiability", VERDICT),
        _row("8.2.3", "Adversarial testing", ATTACKED, RISKS),
        _row("8.3", "Mitigation", TODO),
        _row("8.3.4", "Re-evaluation", *asked.before),
        _said(
            "9.2.2",
            "Assigning roles and responsibilities",
            asked.stated(policy.responsible, policy.second_signatory),
        ),
        _said("9.3.2", "Monitoring the data environment", asked.stated(asked.review)),
        _said("9.4", "Mitigation in case of incident", {"decide": "Who is told, and what is called back."}),
    )


def _nist(asked: _Answers) -> Sequence[Expectation]:
    claim = asked.report.claim
    unit = "" if claim is None else claim.unit_in_words
    stated = "" if claim is None else f"ε = {claim.promise.epsilon:g}, δ = {claim.promise.delta:g}"
    return (
        _row("Unit of privacy", "Whose data is protected: a row, a person?", *asked.claim, told=unit),
        _row("Privacy parameters", "Which ε, and which δ?", *asked.claim, told=stated),
        _row(
            "Correctness",
            "Is the guarantee kept by what was built?",
            *asked.claim,
            told="" if claim is None else claim.state,
            decide="A release can refute a promise and never prove it (tabveil audit-epsilon asks the "
            "generator).",
        ),
        _said(
            "Trust and security",
            "Who sees the rows before noise is added, and how are they kept?",
            {"decide": "No audit of tables can tell."},
        ),
        _row("Usefulness", "What does the noise cost?", *asked.useful),
    )


def _ehds(asked: _Answers) -> Sequence[Expectation]:
    policy = asked.report.policy
    return (
        _said(
            "Article 66(1)",
            "Are the data adequate, relevant and limited to what the purpose needs?",
            {
                "told": policy.purpose,
                "places": asked.dictionary if policy.purpose else (),
                "decide": "Whether each column is needed for this purpose.",
            },
        ),
        _row(
            "Article 66(2)",
            "Are data given in an anonymized format wherever the purpose can be achieved with them?",
            VERDICT,
            *asked.useful,
            decide="Whether this release is in such a format, and serves the purpose.",
        ),
        _said(
            "Article 66(3)",
            "Where they are pseudonymized: can only the access body, or a trusted party, reverse it?",
            {"decide": "Whether pseudonyms stand in the release, and who holds the key."},
        ),
        _row(
            "Recital 72",
            "Do state-of-the-art methods ensure as far as possible that users cannot re-identify people?",
            ATTACKED,
            UNTESTED,
            decide="Whether a later, better attack would change the answer.",
        ),
        _said(
            "Recital 77",
            "Do only non-personal data leave the secure processing environment?",
            asked.stated(policy.context, decide="Whether this release is what leaves it."),
        ),
    )


def _pdpc(asked: _Answers) -> Sequence[Expectation]:
    policy = asked.report.policy
    return (
        _row("Annex B", "A data dictionary", *asked.dictionary),
        _row("Annex D", "Which re-identification risks are there?", RISKS, MEMBERSHIP),
        _row("Annex E", "How are re-identification risks evaluated?", ATTACKED, VERDICT),
        _row(
            "Good practices: noise, coarser values",
            "What would lower the risk?",
            TODO,
            decide="What the generator itself can do.",
        ),
        _said(
            "Good practices: governance and contracts",
            "Which controls hold for those who get the data?",
            asked.stated(policy.context, policy.responsible),
        ),
    )


def _ipc(asked: _Answers) -> Sequence[Expectation]:
    policy = asked.report.policy
    gain = "a gain is not their probability: see the policy's remarks"
    return (
        _said("Context", "Is the release public, or for whom?", asked.stated(asked.model, policy.recipient)),
        _row(
            "Threshold",
            "Which risk is acceptable, by how far a disclosure would invade privacy?",
            VERDICT,
            told=f"sensitivity {policy.sensitivity}; {gain}" if policy.sensitivity else gain,
            decide="Whether 1 / k must be met as well, and at which k.",
        ),
        _row("Direct and indirect identifiers", "Which columns are which?", *asked.dictionary),
        _row("Identity disclosure", "Can a record be linked to a person?", RISKS, *asked.measured),
        _row("Attribute disclosure", "Can something be inferred about a person?", RISKS, COLUMNS),
        _row("Membership disclosure", "Can it be told that somebody is in the data?", MEMBERSHIP),
        _row("Documentation", "Is the process written down?", REPEAT, SIGNATURE),
        _said("Monitoring", "When is the risk looked at again?", asked.stated(asked.review)),
    )


SUMMARY = "Read in summaries only; the text itself was not read."
_ALL: Mapping[Framework, tuple[str, str, Callable[[_Answers], Sequence[Expectation]]]] = {
    "wp29": ("WP29 and recital 26 of the GDPR", "", _wp29),
    "edpb": ("European Data Protection Board", "Read: the executive summary of Opinion 28/2024.", _edpb),
    "ico": (
        "ICO (United Kingdom): is anonymization effective?",
        "Read: the points at the head of the guidance (March 2025) and its headings, not all of its text.",
        _ico,
    ),
    "iso27559": (
        "ISO/IEC 27559:2022",
        "Read: the list of contents with its clause numbers; the standard itself is sold and was not read.",
        _iso,
    ),
    "nist": ("NIST SP 800-226: differential privacy", SUMMARY, _nist),
    "ehds": (
        "European Health Data Space, Regulation (EU) 2025/327",
        "Read: Article 66 and recitals 72 and 77.",
        _ehds,
    ),
    "pdpc": (
        "PDPC (Singapore): Proposed Guide on Synthetic Data Generation, July 2024",
        "Read: its list of contents, and summaries of it.",
        _pdpc,
    ),
    "ipc": ("IPC (Ontario): De-identification Guidelines for Structured Data, 2025", SUMMARY, _ipc),
}
"""What each framework is called, how far it was read, and what it asks."""
