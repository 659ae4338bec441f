"""Human annotation: how far annotators agree on each criterion, and which criteria drive their verdict.

>>> from mixgrid.annotate import COEFFICIENTS
>>> from mixgrid.annotate.base import Counts
>>> float(COEFFICIENTS["raw"](Counts.of([[2, 0], [1, 1]])))
0.5
"""

from collections.abc import Mapping

from mixgrid.annotate import alpha, base, kappas

COEFFICIENTS: Mapping[str, base.Coefficient] = {
    "alpha": alpha.krippendorff,
    "fleiss": kappas.fleiss,
    "gwet": kappas.gwet,
    "randolph": kappas.randolph,
    "raw": base.raw,
}
