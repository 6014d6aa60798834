"""Initial value problems: polyad has no solver of its own."""


def odeint(f, y, t, args=()):
    raise NotImplementedError("polyad has no adaptive solver of differential equations")
