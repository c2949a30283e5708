"""What can go wrong, by whose doing."""


class TabveilError(ValueError):
    """Anything tabveil refuses, with a message meant for the person at the keyboard."""


class SchemaError(TabveilError):
    """The tables themselves are at fault: columns, types or values do not fit."""


class ParameterError(TabveilError):
    """A parameter is out of range or names something that does not exist."""


class NotApplicable(TabveilError):  # noqa: N818 - an answer ("cannot be asked here"), not a fault
    """A metric has no answer for these tables; an audit records it as skipped."""


class NothingToAsk(NotApplicable):
    """A metric asks about something that these tables do not have; an audit of everything passes over it."""
