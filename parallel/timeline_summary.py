"""The table of a timeline: for each kind of collective its calls, bytes and times, over all ranks."""

from collections import defaultdict


def summary(records):
    """The text for the records of all ranks, in one time."""
    total = max(record["end"] for record in records) - min(record["start"] for record in records)
    ranks = len(records)
    head = f"{ranks} rank{'s' * (ranks > 1)}, {total * 1e3:.1f} ms"
    rows = _of_collectives(records, total)
    lines = [f"{head}{'' if rows else ', no collectives'}"]
    if rows:
        titles = ("collective", "calls", "bytes", "wait s", "longest", "move s", "share")
        lines += table([titles, *rows])
    regions = _of_regions(records, total)
    if regions:
        lines += table([("region", "calls", "seconds", "share"), *regions])
    dropped = sum(record["dropped"] for record in records)
    if dropped:
        lines.append(f"{dropped} more were not kept: raise limit=")
    return "\n".join(lines)


def _of_collectives(records, total):
    """Rows, the dearest first. Calls, bytes and seconds are means over the ranks; longest: the longest wait of one call."""
    found = defaultdict(lambda: [0, 0, 0.0, 0.0, 0.0])
    for record in records:
        for name, label, _, size, entered, arrived, left in record["calls"]:
            row = found[f"{name} [{label}]" if label else name]
            row[0] += 1
            row[1] += size
            row[2] += arrived - entered
            row[3] = max(row[3], arrived - entered)
            row[4] += left - arrived
    n = len(records)
    rows = sorted(found.items(), key=lambda item: -(item[1][2] + item[1][4]))
    return [
        (
            name,
            _count(calls / n),
            _count(size / n),
            f"{wait / n:.4f}",
            f"{longest:.4f}",
            f"{move / n:.4f}",
            _share(wait + move, n, total),
        )
        for name, (calls, size, wait, longest, move) in rows
    ]


def _of_regions(records, total):
    found = defaultdict(lambda: [0, 0.0])
    for record in records:
        for name, _, start, end in record["regions"]:
            found[name][0] += 1
            found[name][1] += end - start
    n = len(records)
    rows = sorted(found.items(), key=lambda item: -item[1][1])
    return [(name, _count(calls / n), f"{seconds / n:.4f}", _share(seconds, n, total)) for name, (calls, seconds) in rows]


def _count(x):
    return f"{x:.0f}" if x == int(x) else f"{x:.1f}"


def _share(seconds, n, total):
    return f"{100 * seconds / n / total:.1f} %" if total > 0 else ""


def table(rows):
    """Lines with the first column to the left and the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in rows
    ]
