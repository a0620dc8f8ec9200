"""A picture with its text twin: the figure, one sentence saying what it shows, and the numbers behind it."""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

# Okabe-Ito: eight colours told apart by people with any common colour vision. Hatching and labels repeat what they say.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip


@dataclass(frozen=True)
class Picture:
    """A drawn figure. Displayed in a notebook as an image with alt text and a folded table; as text elsewhere.

    Attributes:
        figure: the matplotlib figure (not registered with pyplot, so nothing is drawn twice).
        alt: one or two sentences that say what the picture shows, figures included.
        table: the numbers behind the picture, or None where `alt` already says them all.
    """

    figure: Figure
    alt: str
    table: pd.DataFrame | None = None

    def png(self, dpi: int = 144) -> bytes:
        """The figure as PNG bytes."""
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=dpi, facecolor="white", metadata={"Description": self.alt})
        return buffer.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write the figure to `path`; the ending (.png, .svg, .pdf) picks the format. Returns the path."""
        path = Path(path)
        self.figure.savefig(path, dpi=144, facecolor="white")
        return path

    def text(self) -> str:
        """The text twin: what the picture says, without the picture."""
        return self.alt if self.table is None else f"{self.alt}\n{self.table.to_string(index=False)}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        image = base64.b64encode(self.png()).decode()
        width = round(self.figure.get_figwidth() * 96)
        parts = [
            f'<img alt="{html.escape(self.alt, quote=True)}" src="data:image/png;base64,{image}" '
            f'style="max-width:100%;width:{width}px;height:auto;background:white;border-radius:4px">'
        ]
        if self.table is not None:
            parts.append(
                f"<details><summary>The same as a table</summary>{self.table.to_html(index=False, border=0)}</details>"
            )
        return {"text/html": "".join(parts), "text/plain": self.text()}
