"""mixgrid: evaluate language models on code-mixed text, as a grid, on a Ray cluster."""

__version__ = "0.1.0"
