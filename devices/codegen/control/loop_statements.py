"""What loops around programs have in common: how they run and end, and arrays that grow as they do."""

from ..text.expressions import Name, c, call, joined
from ..text.statements import NO_MEMORY, Assign, Block, Do, If, changed


def stops(statements):
    """The variables by which these statements may say that it is no use to go on."""
    said = changed(statements)
    return [Name(name) for name in ("fault", "failed") if name in said]


def repeated(counter, length, reverse, body, going_on=(), fixed=()):
    """A loop of so many steps, forwards or backwards. going_on: variables that end it when they are not 0. fixed: as of a
    `Block`."""
    more = joined("", [c(" && !{}", name) for name in going_on])
    if reverse:
        head = c("for (int64_t {0} = {1}; {0}-- > 0{2};)", Name(counter), length, more)
    else:
        head = c("for (int64_t {0} = 0; {0} < {1}{2}; {0}++)", Name(counter), length, more)
    return Block(head, body, (("int64_t", counter),), fixed=fixed)


def endless(asks, going, steps, before=(), fixed=()):
    """A loop that ends when `going`, which `asks` finds out, is not true, or something failed. fixed: as of a `Block`."""
    stop = joined("", [c(" || {}", name) for name in stops([*asks, *steps])])
    return Block("for (;;)", [*before, *asks, If(c("!({}){}", going, stop), [Do("break")]), *steps], fixed=fixed)


def unless_memory(length):
    """A number of steps, none where there is no memory for their results."""
    return c("({} ? 0 : {})", Name("memory"), length)


GROWN = """\
static int grown(void **data, int64_t n, int64_t bytes) {
  if (n < 16 ? n : n & (n - 1)) return 1;
  void *more = realloc(*data, (size_t)(n < 16 ? 16 : 2 * n) * (bytes ? bytes : 1));
  if (!more) return 0;
  *data = more;
  return 1;
}"""


def grow(functions, buffer, size):
    """A statement that makes room for one more row of `size` elements, and leaves the loop if there is none."""
    functions.defined["grown"] = GROWN
    room = call("grown", *_place_and_length(buffer), c("{} * sizeof(*{})", size, Name(buffer.name)))
    return If(c("!{}", room), [NO_MEMORY, Do("break")])


def _place_and_length(buffer):
    return c("(void **)&{}", Name(buffer.name)), Name(f"{buffer.name}_n")


ROWS = """\
static int rows_alloc(void **data, int64_t n, int64_t bytes) {
  *data = malloc((size_t)(n ? n : 1) * (bytes ? bytes : 1));
  return *data != 0;
}"""


def reserve(functions, buffer, size, length):
    """Statements that make an array of `length` rows of `size` elements, as many as are known when the program runs."""
    functions.defined["rows_alloc"] = ROWS
    place, rows = _place_and_length(buffer)
    room = call("rows_alloc", place, rows, c("{} * sizeof(*{})", size, Name(buffer.name)))
    return [Assign(rows, length), If(c("!{}", room), [NO_MEMORY])]
