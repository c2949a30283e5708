"""Show what two tools say of one table: each is asked where it is installed, and named where it is not."""

import importlib.metadata
import warnings


def show(question, *sides):
    """Print a question, and beside each installed tool's name what its function answers."""
    print(question)
    for package, answers in sides:
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            print(f"{package}: not installed here")
            continue
        print(f"{package} {version}:")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for line in answers():
                print(f"  {line}")


def per_100(estimate):
    """Return a rate as so many of 100."""
    return f"{100 * estimate.value:.1f} of 100"


def ours(train, synthetic, control, metric, **settings):
    """Return tabveil's result of one metric; imported here, as peers live in environments without tabveil."""
    import tabveil  # noqa: PLC0415

    asked = [{"name": metric, **settings}]
    return tabveil.audit(train, synthetic, control, metrics=asked, advice=False, seed=0).results[0]
