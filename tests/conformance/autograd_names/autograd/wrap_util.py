"""Operators on functions of one argument, made operators on functions of several."""

from contextlib import suppress


def name_of(f):
    return getattr(f, "__name__", "[unknown name]")


def unary_to_nary(operator):
    """operator(fun, x, …) as an operator (fun, argnum, …) whose result takes all arguments of fun.

    argnum: position of x, or several positions; then x is the tuple of them.
    """

    def of_several(fun, argnum=0, *operands, **options):
        several = not isinstance(argnum, int)

        def run(*args, **kwargs):
            def of_one(x):
                full = list(args)
                for n, v in zip(argnum, x, strict=True) if several else [(argnum, x)]:
                    full[n] = v
                return fun(*full, **kwargs)

            of_one.__name__ = name_of(fun)
            x = tuple([args[n] for n in argnum]) if several else args[argnum]
            return operator(of_one, x, *operands, **options)

        run.__name__ = f"{name_of(operator)}_of_{name_of(fun)}_wrt_argnum_{argnum}"
        run.__doc__ = f"    {name_of(operator)} of function {name_of(fun)} with respect to argument {argnum}."
        return run

    with suppress(AttributeError):
        of_several.__name__, of_several.__doc__ = operator.__name__, operator.__doc__
    return of_several
