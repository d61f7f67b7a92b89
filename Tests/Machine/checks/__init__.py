"""The checks, in the order in which they run. Each is a function that takes the run and returns its figures as text."""

ALL = []


class Skip(Exception):
    """Why a check cannot run on this machine."""


class Check:
    def __init__(self, name, claim, function, needs, in_short_form, is_required):
        self.name, self.claim, self.function, self.needs = name, claim, function, needs
        self.in_short_form, self.is_required = in_short_form, is_required


def check(name, claim, needs=("nightshift",), in_short_form=False, is_required=False):
    """Registers a function as a check. `claim` says what holds when it passes."""

    def register(function):
        ALL.append(Check(name, claim, function, needs, in_short_form, is_required))
        return function

    return register


from checks import install, sessions, failures, sleep, device, location, gateway, upgrade, power_cut  # noqa: E402, F401 (registers them)
