"""What each configuration of an attack found, in the shape that compares best with numbers by hand."""


def by_name(result):
    """Return estimates and facts of every configuration by its name."""
    return {
        item.name: {
            "risk": item.risk,
            "gain": item.gain,
            "p_value": item.p_value,
            "informative": item.beats_baseline,
            "attack": item.attack,
            "control": item.control,
            "baseline": item.baseline,
            **item.facts,
        }
        for item in result.configurations
    }
