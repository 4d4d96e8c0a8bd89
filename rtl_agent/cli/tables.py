"""Tables that hide nothing: in a terminal they drop or wrap what matters least, elsewhere they are plain lines.

    table = Table(Column("id", whole=True), Column("split", drop=1), "message")
    table.add("rtl_alu_0001", "train", "all passed")
    table.print()

A `whole` column (ids, signal names, test names, file and line) is never dropped and never cut. Columns with `drop` go
first when the terminal is too narrow, the highest number first; a line below the table names those that went. What is
left wraps. Where stdout is not a terminal every row is one line of its full width, with all columns: `| grep` finds it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.table import Table as RichTable
from rich.text import Text

from rtl_agent.cli.console import out

_BETWEEN = 3  # columns of a terminal that the border and the spaces around a cell take
_LEAST = 6  # of a text, before whole columns are folded
_LONG_WORD = 44  # of a text; test names such as `test_runner.py::test_fixed_priority_arbiter` stay whole


@dataclass(frozen=True)
class Column:
    """One column. `right` aligns numbers."""

    name: str
    whole: bool = False
    drop: int = 0  # 0: never
    right: bool = False


class Table:
    """Rows of cells, which may hold rich's markup. Escape text that others wrote: `console.harmless`, `escape`."""

    def __init__(self, *columns: Column | str, title: str = "") -> None:
        self.title = title
        self._columns = [column if isinstance(column, Column) else Column(column) for column in columns]
        self._rows: list[list[Text]] = []

    def add(self, *cells: str) -> None:
        """One row, a cell for each column; a cell may have several lines."""
        if len(cells) != len(self._columns):
            raise ValueError(f"{len(cells)} cells for {len(self._columns)} columns")
        self._rows.append([Text.from_markup(cell, emoji=False) for cell in cells])

    def print(self) -> None:
        """On stdout."""
        if out.is_terminal:
            self._print_for_people()
        else:
            self._print_lines()

    def _print_lines(self) -> None:
        if self.title:
            print_plain(self.title)
        lines = [[column.name for column in self._columns]]
        lines += [["; ".join(cell.plain.split("\n")) for cell in row] for row in self._rows]
        widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
        for line in lines:
            print_plain("  ".join(map(self._padded, line, widths, self._columns)).rstrip())

    @staticmethod
    def _padded(text: str, width: int, column: Column) -> str:
        room = " " * (width - cell_len(text))
        return room + text if column.right else text + room

    def _print_for_people(self) -> None:
        shown = self._that_fit(out.width)
        widths = self._widths(shown, out.width)
        table = RichTable(title=Text(self.title) if self.title else None, title_justify="left")
        for at in shown:
            column = self._columns[at]
            justify: JustifyMethod = "right" if column.right else "left"
            table.add_column(column.name, justify=justify, overflow="fold", width=widths[at])
        for row in self._rows:
            table.add_row(*(row[at] for at in shown))
        out.print(table)
        if dropped := [column.name for at, column in enumerate(self._columns) if at not in shown]:
            note = f"not shown in {out.width} columns: {', '.join(dropped)}; piped output has every column"
            out.print(Text(note, style="dim"))

    def _that_fit(self, width: int) -> list[int]:
        """The columns to show: all, or without the least important ones."""
        shown = list(range(len(self._columns)))
        while 1 + sum(_BETWEEN + self._least(at) for at in shown) > width:
            candidates = [at for at in shown if self._columns[at].drop]
            if not candidates:
                break
            shown.remove(max(candidates, key=lambda at: (self._columns[at].drop, at)))
        return shown

    def _widths(self, shown: Sequence[int], width: int) -> dict[int, int]:
        """Texts share what whole columns leave; where that is too little, the widest shrinks first, numbers last."""
        room = width - 1 - _BETWEEN * len(shown)
        widths = {at: self._least(at) for at in shown}
        while sum(widths.values()) < room and (short := [at for at in shown if widths[at] < self._needs(at)]):
            widths[min(short, key=lambda at: widths[at])] += 1
        while sum(widths.values()) > room and max(widths.values()) > 1:
            texts = [at for at in shown if not self._columns[at].whole and widths[at] > _LEAST]
            words = [at for at in texts if not self._columns[at].right]
            widths[max(words or texts or shown, key=lambda at: widths[at])] -= 1
        return widths

    def _least(self, at: int) -> int:
        """The width below which a column loses more than spaces: a whole line, or a text's longest word."""
        if self._columns[at].whole:
            return self._needs(at)
        words = [word for row in self._rows for word in row[at].plain.split()]
        longest = max(map(cell_len, (*self._columns[at].name.split(), *words)))
        return min(longest, _LONG_WORD)

    def _needs(self, at: int) -> int:
        """The width of a column's longest line."""
        lines = [line for row in self._rows for line in row[at].plain.split("\n")]
        return max(cell_len(text) for text in (self._columns[at].name, *lines))


def print_plain(text: str) -> None:
    """A line as it is: not coloured, not wrapped, not read as markup."""
    out.print(text, markup=False, highlight=False, soft_wrap=True, emoji=False)
