"""A picture of a directed graph as SVG without any other program: boxes in layers, arrows downwards.

After Sugiyama, Tagawa and Toda, Methods for visual understanding of hierarchical system structures (1981), in its simple
form: the layer of a box is its longest distance from a source, boxes of a layer are put in the order of the mean places of
their neighbours, by turns downwards and upwards, and long arrows run through gaps that are kept free. A group is laid out
by itself and then is one box of what surrounds it, so frames hold what belongs to them and nothing else.
"""

from html import escape

CHARACTER, LINE, PAD = 6.1, 13, 6  # of the text, in pixels
GAP, RISE, MARGIN = 18, 38, 12
TURNS = 8  # of sorting
COLOURS = {
    "input": "#dbeafe", "constant": "#f3f4f6", "operation": "#fef9c3", "output": "#dcfce7", "effect": "#fee2e2", "note": "none",
}  # fmt: skip


def to_svg(graph):
    """SVG text of a `drawing.Graph`."""
    level = Level(graph, ())
    width = max(level.width, CHARACTER * 1.2 * len(graph.title)) + 2 * MARGIN
    height = level.height + 2 * MARGIN + LINE
    title = escape(graph.title)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} '
        f'{height:.0f}" font-family="monospace" font-size="10">',
        f"<title>{title}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
        f'<text x="{MARGIN}" y="{MARGIN + 2}" font-size="12" font-weight="bold">{title}</text>',
        *level.drawn(MARGIN, MARGIN + LINE),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


class Level:
    """The contents of one group, not deeper: boxes, and groups as boxes. path: the groups around it, outermost first."""

    def __init__(self, graph, path):
        self.graph, depth = graph, len(path)
        self.inner, self.items, item_of = {}, [], {}
        for i, node in enumerate(graph.nodes):
            if node.group[:depth] != path:
                continue
            item = ("node", i) if len(node.group) == depth else ("group", node.group[depth])
            item_of[i] = item
            if item[0] == "group" and item not in self.inner:
                self.inner[item] = Level(graph, node.group[: depth + 1])
            if item not in self.items:
                self.items.append(item)
        between = [(item_of[a], item_of[b], label) for a, b, label in graph.edges if a in item_of and b in item_of]
        self.edges = [edge for edge in between if edge[0] != edge[1]]
        layers = _layers(self.items, self.edges)
        self.chains, rows = _rows(self.items, self.edges, layers)
        for turn in range(TURNS):
            _sort(rows, self.chains, down=turn % 2 == 0)
        self._place(rows)

    def _size(self, item):
        if item[0] == "node":
            lines = self.graph.nodes[item[1]].lines
            return max(CHARACTER * max(map(len, lines), default=1) + 2 * PAD, 30), LINE * len(lines) + 2 * PAD
        if item[0] == "group":
            level = self.inner[item]
            title = CHARACTER * len(self.graph.groups[item[1]])
            return max(level.width, title) + 2 * PAD, level.height + 2 * PAD + LINE
        return 4, 0  # a gap for an arrow

    def _place(self, rows):
        """item -> (x, y, width, height), and the size of all."""
        sizes = {item: self._size(item) for row in rows for item in row}
        widths = [sum(sizes[item][0] + GAP for item in row) - GAP for row in rows]
        self.width, self.places, y = max(widths, default=0), {}, 0.0
        for row, width in zip(rows, widths, strict=True):
            x, height = (self.width - width) / 2, max(sizes[item][1] for item in row)
            for item in row:
                w, h = sizes[item]
                h = height if item[0] == "gap" else h
                self.places[item] = x, y + (height - h) / 2, w, h
                x += w + GAP
            y += height + RISE
        self.height = max(y - RISE, 0)

    def drawn(self, x, y):
        """SVG elements, with the upper left corner at (x, y)."""
        moved = {item: (x + px, y + py, w, h) for item, (px, py, w, h) in self.places.items()}
        parts = [_arrow(chain, label, moved) for chain, label in self.chains]
        for item in self.items:
            if item[0] == "node":
                parts.append(_box(self.graph.nodes[item[1]], moved[item]))
            else:
                left, top, _, _ = moved[item]
                parts += [_frame(self.graph.groups[item[1]], moved[item])]
                parts += [*self.inner[item].drawn(left + PAD, top + PAD + LINE), "</g>"]
        return parts


def _layers(items, edges):
    """item -> its layer: 0 for sources, else one below the lowest one that leads to it."""
    below, waiting = {item: [] for item in items}, dict.fromkeys(items, 0)
    for a, b, _ in edges:
        below[a].append(b)
        waiting[b] += 1
    sources = [item for item in items if not waiting[item]]
    layers, ready = dict.fromkeys(items, 0), list(sources)
    while ready:
        a = ready.pop()
        for b in below[a]:
            layers[b] = max(layers[b], layers[a] + 1)
            waiting[b] -= 1
            if not waiting[b]:
                ready.append(b)
    for a in sources:  # right above the first one that reads it
        if below[a]:
            layers[a] = min(layers[b] for b in below[a]) - 1
    return layers


def _rows(items, edges, layers):
    """(chains, rows): each arrow as the items that it runs through, and the items of each layer, gaps for arrows included."""
    rows = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for item in items:
        rows[layers[item]].append(item)
    chains = []
    for n, (a, b, label) in enumerate(edges):
        gaps = [("gap", n, layer) for layer in range(layers[a] + 1, layers[b])]
        for gap in gaps:
            rows[gap[2]].append(gap)
        chains.append(([a, *gaps, b], label))
    return chains, [row for row in rows if row]


def _sort(rows, chains, down):
    """Put the items of each layer in the order of the mean places of their neighbours in the layer before."""
    near = {}
    for chain, _ in chains:
        for a, b in zip(chain, chain[1:], strict=False):
            near.setdefault(b if down else a, []).append(a if down else b)
    place = {item: i / len(row) for row in rows for i, item in enumerate(row)}
    mean = lambda item: sum(place[n] for n in near[item]) / len(near[item]) if item in near else place[item]
    for row in rows if down else rows[::-1]:
        row.sort(key=mean)
        place.update({item: i / len(row) for i, item in enumerate(row)})


# ---------------------------------------------------------------------- elements
def _box(node, place):
    x, y, w, h = place
    dash = ' stroke-dasharray="4 3"' if node.kind == "constant" else ""
    line = "none" if node.kind == "note" else "#555"
    radius = h / 2 if node.kind in ("input", "output") else 5
    texts = [
        f'<text x="{x + w / 2:.1f}" y="{y + PAD + LINE * (i + 0.75):.1f}" text-anchor="middle">{escape(text)}</text>'
        for i, text in enumerate(node.lines)
    ]
    rectangle = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="{radius:.1f}" fill="{COLOURS[node.kind]}" '
        f'stroke="{line}"{dash}/>'
    )
    return "\n".join([f'<g class="node {node.kind}">', rectangle, *texts, "</g>"])


def _frame(title, place):
    """The frame of a group, an element that is left open."""
    x, y, w, h = place
    return (
        f'<g class="group"><rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="#6366f1" fill-opacity="0.06" '
        f'stroke="#6366f1"/><text x="{x + PAD:.1f}" y="{y + LINE:.1f}" fill="#4338ca">{escape(title)}</text>'
    )


def _arrow(chain, label, places):
    middle = lambda item: places[item][0] + places[item][2] / 2
    top, bottom = lambda item: places[item][1], lambda item: places[item][1] + places[item][3]
    points = [(middle(chain[0]), bottom(chain[0]))]
    for gap in chain[1:-1]:
        points += [(middle(gap), top(gap)), (middle(gap), bottom(gap))]
    points.append((middle(chain[-1]), top(chain[-1])))
    line = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in zip(points, points[1:], strict=False):
        half = (y0 + y1) / 2
        line += f" C{x0:.1f},{half:.1f} {x1:.1f},{half:.1f} {x1:.1f},{y1:.1f}"
    text = ""
    if label:
        (x0, y0), (x1, y1) = points[-2:]
        text = f'<text x="{(x0 + x1) / 2 + 3:.1f}" y="{(y0 + y1) / 2:.1f}" font-size="8" fill="#555">{escape(label)}</text>'
    return f'<g class="edge"><path d="{line}" fill="none" stroke="#555" marker-end="url(#tip)"/>{text}</g>'
