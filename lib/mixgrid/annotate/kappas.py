"""Raw agreement less what chance would give, in three ideas of chance; all of them nominal."""

import numpy as np

from mixgrid.annotate.base import Counts, Floats, UndefinedError, quotient, raw


def fleiss(table: Counts) -> Floats:
    """Fleiss (1971): chance is two ratings drawn from all. Wants the same number of ratings for every item."""
    agreed, sizes = raw(table), table.sizes
    if sizes.min() != sizes.max():
        raise UndefinedError(
            f"items have {sizes.min():g} to {sizes.max():g} ratings, where Fleiss wants the same number"
        )
    given = table.copies @ table.counts
    chance = ((given / given.sum(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    varied = np.count_nonzero(given, axis=-1) > 1
    return quotient(agreed - chance, 1 - chance, varied, "no variation, every rating is the same")


def randolph(table: Counts) -> Floats:
    """Randolph (2005), free-marginal: by chance all categories are as likely."""
    agreed, chance = raw(table), 1 / _categories(table)
    return (agreed - chance) / (1 - chance)


def gwet(table: Counts) -> Floats:
    """Gwet's AC1 (2008): chance only where an item is hard, so that a common category does not lower it."""
    agreed, many = raw(table), _categories(table)
    common = (table.copies @ (table.counts / table.sizes[:, None])) / table.copies.sum(axis=-1, keepdims=True)
    chance = (common * (1 - common)).sum(axis=-1) / (many - 1)
    return np.asarray((agreed - chance) / (1 - chance))


def _categories(table: Counts) -> int:
    many = len(table.values)
    if many == 1:
        raise UndefinedError("one category; where the scale has more, declare them")
    return many
