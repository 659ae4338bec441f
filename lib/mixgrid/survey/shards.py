"""Samples → rows, shard by shard: here, or on Ray where there are many. A shard's part is written once, by its name.

<folder>/rows-00000-of-00003-….parquet
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from mixgrid.describe.rows import Describer, Row, Sample, from_rows, to_rows
from mixgrid.schemas import from_table, to_table
from mixgrid.store import Store
from mixgrid.store.parts import decode, encode

SHARD = 4_000  # samples


@dataclass(frozen=True)
class Shards:
    """Where the rows of one survey go, and what measures them."""

    store: Store
    folder: str
    describer: Describer
    count: int

    def write(self, number: int, samples: Sequence[Sample]) -> None:
        """Measure one shard and keep its rows."""
        self.store.put_table(self.folder, self.stem(number), to_rows(self.describer(samples)))

    def stem(self, number: int) -> str:
        """The name of a shard's part."""
        return f"rows-{number:05}-of-{self.count:05}"

    def there(self) -> set[str]:
        """The stems of the parts that are whole."""
        return {part.stem for part in self.store.parts(self.folder).whole}

    def rows(self) -> Iterator[Row]:
        """All rows, in the order of the shards."""
        parts = {part.stem: part for part in self.store.parts(self.folder).whole}
        for number in range(self.count):
            yield from from_rows(self.store.read(parts[self.stem(number)]))


def described(store: Store, folder: str, samples: Sequence[Sample], describer: Describer, on_ray: bool) -> list[Row]:
    """The rows of all samples; shards that an earlier call wrote are not measured again."""
    cuts = [samples[start : start + SHARD] for start in range(0, len(samples), SHARD)]
    shards = Shards(store, folder, describer, len(cuts))
    there = shards.there()
    lacking = [number for number in range(len(cuts)) if shards.stem(number) not in there]
    if on_ray and lacking:
        _on_ray(shards, {number: cuts[number] for number in lacking})
    else:
        for number in lacking:
            shards.write(number, cuts[number])
    return list(shards.rows())


class Worker:
    """Measures whole shards in a process of Ray's, so that a model is loaded once."""

    def __init__(self, shards: Shards) -> None:
        self.shards = shards

    def __call__(self, batch: pa.Table) -> pa.Table:
        """One row of the data set is one shard; its rows go to the store, its number comes back."""
        for number, data in zip(batch["shard"].to_pylist(), batch["samples"].to_pylist(), strict=True):
            self.shards.write(number, from_table(Sample, decode(f"shard {number}", data, None)))
        return batch.select(["shard"])


def _on_ray(shards: Shards, cuts: dict[int, Sequence[Sample]]) -> None:
    """As many workers as there are CPUs; each with a GPU of its own where a model is used and there are GPUs."""
    import ray
    import ray.data

    from mixgrid.pool import connect

    connect()
    ray.data.DataContext.get_current().enable_progress_bars = False
    there = ray.cluster_resources()
    gpus = 1 if shards.describer.encoder and there.get("GPU") else 0
    room = int(there.get("GPU" if gpus else "CPU", 1))
    blocks = [
        ray.put(pa.table({"shard": [number], "samples": [encode(to_table(Sample, cut))]}))
        for number, cut in cuts.items()
    ]
    done = ray.data.from_arrow_refs(blocks).map_batches(
        Worker,
        fn_constructor_args=[shards],
        batch_size=1,  # a row is a whole shard, so Ray Data can neither merge shards nor split them
        batch_format="pyarrow",
        num_gpus=gpus,
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(size=max(1, min(room, len(blocks)))),
    )
    for _ in done.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        pass
