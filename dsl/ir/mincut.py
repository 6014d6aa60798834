"""The cheapest cut of a network: Dinic's algorithm (Soviet Math. Dokl. 11, 1970), without recursion."""

from collections import deque
from typing import Any

INFINITE = float("inf")


class Network:
    """Places, numbered from 0, and edges with capacities; 0 is the source and 1 the sink."""

    def __init__(self):
        self.edges = [[], []]  # by place: lists [to, capacity left, index of the reverse edge]

    def place(self):
        """A new place."""
        self.edges.append([])
        return len(self.edges) - 1

    def edge(self, a, b, capacity=INFINITE):
        """An edge from a to b."""
        self.edges[a].append([b, capacity, len(self.edges[b])])
        self.edges[b].append([a, 0, len(self.edges[a]) - 1])

    def cut(self):
        """The places on the source's side of a cheapest cut, of those the one nearest to the source; None if every cut
        costs infinitely much."""
        while (levels := self._levels())[1] is not None:
            following = [0] * len(self.edges)
            while (flow := self._push(levels, following)) is not None:
                if flow == INFINITE:
                    return None
        return {place for place, level in enumerate(levels) if level is not None}

    def _levels(self):
        """Distances from the source along edges with capacity left."""
        levels: list[Any] = [None] * len(self.edges)
        levels[0], waiting = 0, deque([0])
        while waiting:
            a = waiting.popleft()
            for b, left, _ in self.edges[a]:
                if left and levels[b] is None:
                    levels[b] = levels[a] + 1
                    waiting.append(b)
        return levels

    def _push(self, levels, following):
        """Send flow along one shortest path: how much, None if there is no path. following: by place, the edge to try."""
        path, a = [], 0
        while a != 1:
            if following[a] == len(self.edges[a]):
                if not path:
                    return None
                a = path.pop()[0]  # a dead end
                following[a] += 1
                continue
            b, left, _ = self.edges[a][following[a]]
            if left and levels[b] == levels[a] + 1:
                path.append((a, following[a]))
                a = b
            else:
                following[a] += 1
        flow = min(self.edges[a][i][1] for a, i in path)
        for a, i in path:
            edge = self.edges[a][i]
            edge[1] -= flow
            self.edges[edge[0]][edge[2]][1] += flow
        return flow
