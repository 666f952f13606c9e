"""The library at 10,000 and 100,000 entries: ingest, open, query at the 95th percentile, recall of the vectors, memory.

Run, with kernelwright installed:
    python tests/benchmarks/library_scale.py --entries 10000 [--keep FOLDER]
    python tests/benchmarks/library_scale.py --entries 100000 --synthetic
Entries are generated folders that are read, embedded and indexed as a user's are. --synthetic skips folders and model:
catalogue rows with words are made directly and vectors are drawn around the embedded descriptions of 500 of them,
which tests the index, not the ingest. Opening and querying happen in a process of their own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from plausible import OPERATIONS, entries, write_folder

from kernelwright.memory.catalogue import Wanted
from kernelwright.memory.documents import Document
from kernelwright.memory.embedding import DEFAULT_MODEL, keep_unpacked
from kernelwright.memory.index import Index
from kernelwright.memory.lexical import words
from kernelwright.memory.library import Library

EMBEDDED = 500
QUERIES = 200


def documents(count: int) -> list[Document]:
    """Entries as the index holds them, without folders."""
    found = []
    for facts in entries(count, seed=1):
        text = f"{facts['title']}. {facts['description']}"
        fields = {k: facts[k] for k in ("family", "language", "techniques", "title")}
        names = " ".join(words(str(facts["title"])))
        body = " ".join(words(str(facts["description"])))
        more = {"state": "promoted", "device": "cpu", "dtypes": [], "bottlenecks": [facts["bottleneck"]], "task": ""}
        found.append(Document(f"solution:{facts['id']}", text, names, body, "", (), (), {**fields, **more}))
    return found


def ingest_synthetic(folder: Path, count: int) -> float:
    """Fill an index directly; gives the seconds."""
    index = Index(folder / "index")
    made = documents(count)
    base = index.embedder.embed([d.text for d in made[:EMBEDDED]])
    rng = np.random.default_rng(0)
    began = time.perf_counter()
    for start in range(0, count, 1000):
        part = made[start : start + 1000]
        vectors = base[rng.integers(0, len(base), len(part))]
        noise = rng.standard_normal(vectors.shape).astype(np.float32)
        vectors = vectors + 0.5 * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        labels = [{"kind": "solution", "language": d.fields["language"], "family": d.fields["family"],
                   "state": "promoted", "device": "cpu"} for d in part]  # fmt: skip
        with index.vectors.exclusive():
            index.vectors.upsert([d.key for d in part], vectors.astype(np.float32), labels)
            index.catalogue.put([(d, "synthetic") for d in part])
        if start % 10_000 == 0:
            print(f"  {start} of {count}, {time.perf_counter() - began:.0f} s", file=sys.stderr)
    keep_unpacked(DEFAULT_MODEL, folder / "index" / "model")
    index.close()
    return time.perf_counter() - began


def ingest(folder: Path, count: int) -> float:
    """Write folders (not timed), then bring the index up to date with them; gives the seconds."""
    shelf = folder / "shelf"
    if not shelf.exists():
        for facts in entries(count, seed=1):
            write_folder(shelf, facts)
    began = time.perf_counter()
    index = Index(folder / "index")
    report = index.sync(
        Library(user=shelf, shipped=None), progress=lambda done, of: print(f"  {done} of {of}", file=sys.stderr)
    )
    assert report.added + report.unchanged == count, report
    index.close()
    return time.perf_counter() - began


def measure(folder: Path, *, synthetic: bool) -> dict[str, object]:
    """In a fresh process: open, query, compare with brute force."""
    began, began_cpu = time.perf_counter(), time.process_time()
    index = Index(folder / "index")
    if not synthetic:
        index.sync(Library(user=folder / "shelf", shipped=None))
    index.search("warm")
    open_s, open_cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    asked = [line.split("|") for line in OPERATIONS]
    texts = [
        f"make {a[2].lower()} faster on cpu" if i % 2 else f"y = {a[1].split(',')[0]}(x)" for i, a in enumerate(asked)
    ]
    texts = (texts * (QUERIES // len(texts) + 1))[:QUERIES]
    wanted = Wanted(states=["promoted"])
    spent, busy, parts = [], [], []
    for text in texts:
        start = time.process_time()
        vector = index.embedder.embed([text])[0]
        embedded = time.process_time()
        index.vectors.nearest(vector, limit=120, where={})  # as a search without conditions asks
        parts.append((embedded - start, time.process_time() - embedded))
        start, cpu = time.perf_counter(), time.process_time()
        index.search(text, wanted=wanted, limit=10)
        spent.append(time.perf_counter() - start)
        busy.append(time.process_time() - cpu)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    rss = int(status.split("VmHWM:")[1].split()[0]) / 1024  # of this program, not of what started it
    return {
        "open_s": round(open_s, 3),
        "open_cpu_s": round(open_cpu_s, 3),
        "query_ms_p50": round(1e3 * float(np.percentile(spent, 50)), 1),
        "query_ms_p95": round(1e3 * float(np.percentile(spent, 95)), 1),
        "query_cpu_ms_p50": round(1e3 * float(np.percentile(busy, 50)), 1),
        "query_cpu_ms_p95": round(1e3 * float(np.percentile(busy, 95)), 1),
        "of_which_embedding_cpu_ms_p50": round(1e3 * float(np.median([p[0] for p in parts])), 1),
        "of_which_vectors_cpu_ms_p50": round(1e3 * float(np.median([p[1] for p in parts])), 1),
        "peak_rss_mb": round(rss),
        "recall_at_10": recall_at_10(index, texts[: len(asked)]),
        "entries": index.catalogue.count(),
    }


def recall_at_10(index: Index, texts: list[str]) -> float:
    """Share of the ten truly nearest vectors that the index gives."""
    with index.vectors._open() as collection:
        all_ = collection.get(include=["embeddings"])
    keys, matrix = np.array(all_["ids"]), np.asarray(all_["embeddings"], dtype=np.float32)
    shares = []
    for vector in index.embedder.embed(texts):
        near = matrix @ vector
        threshold = np.sort(near)[-10] - 1e-6  # ties are as good as each other
        right = set(keys[near >= threshold])
        found = [key for key, _ in index.vectors.nearest(vector, limit=10, where={})]
        shares.append(len(right.intersection(found)) / 10)
    return round(float(np.mean(shares)), 4)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--synthetic", action="store_true")
    parser.add_argument("--keep", type=Path, help="keep everything here")
    parser.add_argument("--measure-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure_only:
        print(json.dumps(measure(options.keep, synthetic=options.synthetic)))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        fill = ingest_synthetic if options.synthetic else ingest
        cpu = time.process_time()
        ingest_s = fill(folder, options.entries)
        cpu_s = time.process_time() - cpu
        command = [sys.executable, __file__, "--measure-only", "--keep", str(folder)]
        command += ["--synthetic"] if options.synthetic else []
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        told = json.loads(done.stdout.splitlines()[-1])
        print(json.dumps({"ingest_s": round(ingest_s, 1), "ingest_cpu_s": round(cpu_s, 1), **told}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
