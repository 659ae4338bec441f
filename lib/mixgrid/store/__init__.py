"""The only door to S3 and disk for everything that mixgrid persists.

>>> from mixgrid.store import Store
>>> Store.open("s3://bucket/grid").url
's3://bucket/grid'
"""

from mixgrid.store.base import Entry, NotFound, StoreError, TornError
from mixgrid.store.parts import Part, PartListing
from mixgrid.store.store import Store

__all__ = ["Entry", "NotFound", "Part", "PartListing", "Store", "StoreError", "TornError"]
