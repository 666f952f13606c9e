"""Not a test: kernels as PTX, run by numpy with all threads of a launch as lanes; for what no emulator here can run.

Lanes that are furthest behind go first, so that branches join again. Every access is held against the tensors or the
launch's shared memory and its alignment; shared memory starts as NaN; cp.async lands when it is waited for; a shuffle,
ldmatrix or mma that not all lanes of a warp reach together is an error. Races between barriers are not seen.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

DTYPES = {
    f"{kind}{bits}": np.dtype(f"{code}{bits // 8}")
    for kind, code in (("u", "u"), ("b", "u"), ("s", "i"))
    for bits in (8, 16, 32, 64)
} | {"f16": np.dtype("f2"), "f32": np.dtype("f4"), "f64": np.dtype("f8"), "pred": np.dtype(bool)}
REGISTERS = {"pred": "pred", "b16": "b16", "b32": "b32", "b64": "b64", "f32": "b32", "f64": "b64"}
GAP = 256
_ENTRY = re.compile(r"\.visible \.entry (\w+)\((.*?)\)(.*?)\n\{(.*?)\n\}", re.DOTALL)
_COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater}
_COMPARE |= {"ge": np.greater_equal, "neu": np.not_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater}
_COMPARE |= {"nan": lambda a, b: np.isnan(a) | np.isnan(b), "num": lambda a, b: ~(np.isnan(a) | np.isnan(b))}
_COMPARE |= {"gtu": lambda a, b: ~(a <= b), "leu": lambda a, b: ~(a > b), "ltu": lambda a, b: ~(a >= b)}


class Wrong(Exception):
    """A kernel did what no GPU would do right."""


@dataclass
class Kernel:
    """One entry of a PTX text."""

    name: str
    parameters: int
    registers: dict[str, tuple[str, int]]  # prefix -> type, how many
    code: list[tuple[str, str, list[str]]]  # guard or "", opcode, operands
    labels: dict[str, int]


def kernels(text: str) -> list[Kernel]:
    """The entries of a PTX text, in its order."""
    found = []
    for name, parameters, _, body in _ENTRY.findall(text):
        registers, code, labels = {}, [], {}
        for told in re.sub(r"//[^\n]*", "", body).replace("\n", " ").split(";"):
            line = told.strip()
            while match := re.match(r"(\$\w+):\s*", line):
                labels[match[1]] = len(code)
                line = line[match.end() :]
            if match := re.match(r"\.reg \.(\w+)\s+(%\w+?)<(\d+)>", line):
                registers[match[2]] = (match[1], int(match[3]))
            elif line and not line.startswith((".", "{", "}")):
                guard = re.match(r"@(!?%p\d+)\s+", line)
                line = line[guard.end() :] if guard else line
                opcode, _, rest = line.partition(" ")
                code.append((guard[1] if guard else "", opcode, _operands(rest)))
        found.append(Kernel(name, parameters.count(".param"), registers, code, labels))
    return found


def _operands(text: str) -> list[str]:
    return [part.strip() for part in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*", text)]


@dataclass
class Memory:
    """The tensors of a launch, apart by gaps that nothing may touch."""

    data: np.ndarray = field(default_factory=lambda: np.zeros(GAP, np.uint8))
    mine: np.ndarray = field(default_factory=lambda: np.zeros(GAP, bool))

    def put(self, array: np.ndarray) -> int:
        """Its address; a multiple of 256."""
        raw = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        at = len(self.data)
        padding = np.zeros(GAP + -raw.size % GAP, np.uint8)
        self.data = np.concatenate([self.data, raw, padding])
        self.mine = np.concatenate([self.mine, np.ones(raw.size, bool), padding.astype(bool)])
        return at

    def get(self, at: int, like: np.ndarray) -> np.ndarray:
        return self.data[at : at + like.nbytes].view(like.dtype).reshape(like.shape).copy()


@dataclass(frozen=True)
class Place:
    """How a kernel is launched: blocks by axis, threads of a block, its dynamic shared memory."""

    grid: Sequence[int]
    block: int
    shared_bytes: int


class Launch:
    """One launch of one kernel."""

    def __init__(self, kernel: Kernel, memory: Memory, addresses: Sequence[int], *, place: Place) -> None:
        """``addresses``: of the parameters, in order, in ``memory``."""
        grid, block, shared_bytes = place.grid, place.block, place.shared_bytes
        if len(addresses) != kernel.parameters or block % 32:
            raise Wrong(f"{kernel.name} takes {kernel.parameters} parameters, and blocks are warps")
        self.kernel, self.memory, self.addresses, self.shared_bytes = kernel, memory, addresses, shared_bytes
        blocks = int(np.prod(grid))
        self.block = np.repeat(np.arange(blocks), block)
        n = blocks * block
        self.lane = np.arange(n) % 32
        self.special = {"%tid.x": np.arange(n) % block, "%ntid.x": np.full(n, block), "%laneid": self.lane}
        for axis, size, ahead in zip("xyz", grid, np.cumprod([1, *grid]), strict=False):
            self.special[f"%ctaid.{axis}"] = self.block // ahead % size
            self.special[f"%nctaid.{axis}"] = np.full(n, size)
        self.shared = np.full((blocks, shared_bytes), 0xFF, np.uint8)
        self.registers = {
            f"{prefix}{i}": np.zeros(n, DTYPES[REGISTERS[kind]])
            for prefix, (kind, count) in kernel.registers.items()
            for i in range(count)
        }
        self.at, self.waiting, self.gone = np.zeros(n, np.int64), np.zeros(n, bool), np.zeros(n, bool)
        self.open, self.groups = [], []  # of cp.async, in order

    def run(self, most: int = 2_000_000) -> None:
        """To the end of every thread; Wrong where an access or a warp cannot work."""
        for _ in range(most):
            ready = ~(self.gone | self.waiting)
            if not ready.any():
                if self.gone.all():
                    return
                self._release()
                continue
            here = int(self.at[ready].min())
            mask = ready & (self.at == here)
            self.at[mask] += 1
            guard, opcode, operands = self.kernel.code[here]
            if guard:
                told = self.registers[guard.lstrip("!")]
                mask = mask & (~told if guard[0] == "!" else told)
            if mask.any():
                try:
                    self._one(opcode, operands, mask)
                except Wrong as wrong:
                    raise Wrong(f"{opcode} {', '.join(operands)}: {wrong}") from None
        raise Wrong("endless")

    def _release(self) -> None:
        waits = np.zeros(int(self.block.max()) + 1, bool)
        waits[self.block[self.waiting]] = True
        self.waiting[waits[self.block]] = False

    def _one(self, opcode: str, operands: list[str], mask: np.ndarray) -> None:
        name, _, rest = opcode.partition(".")
        words = rest.split(".") if rest else []
        kind = next((w for w in reversed(words) if w in DTYPES), "")
        if name == "bra":
            self.at[mask] = self.kernel.labels[operands[0]]
        elif name in ("ret", "exit"):
            self.gone |= mask
        elif name in ("bar", "barrier"):
            self.waiting |= mask
        elif name in ("ld", "st"):
            self._access(name, words, kind, operands, mask)
        elif name == "cp":
            self._copies(words, operands, mask)
        elif name in ("shfl", "ldmatrix", "mma"):
            getattr(self, f"_{name}")(words, operands, mask)
        elif name == "mov" and "{" in "".join(operands):
            self._packed(kind, operands, mask)
        elif name == "cvt":
            self._convert(words, operands, mask)
        else:
            self._compute(name, words, kind, operands, mask)

    def read(self, operand: str, kind: str) -> Any:
        """An operand of every lane as its type; constants as one number."""
        dtype = DTYPES[kind]
        if operand in self.registers:
            held = self.registers[operand]
            if held.dtype.itemsize != dtype.itemsize:
                return held.astype(f"u{dtype.itemsize}").view(dtype)
            return held.view(dtype)
        if operand in self.special:
            return self.special[operand].astype(dtype)
        if match := re.fullmatch(r"0[fF]([0-9A-Fa-f]{8})", operand):
            bits = np.array([int(match[1], 16)], np.uint32)  # a float in a move of b32 is its bits
            return (bits.view(np.float32) if dtype.kind == "f" else bits).astype(dtype)[0]
        if re.fullmatch(r"__dynamic_shmem__\w*", operand):
            return dtype.type(0)
        if not re.fullmatch(r"-?(0x)?[0-9a-fA-F]+", operand):
            raise Wrong(f"unknown operand {operand}")
        number = int(operand, 0)
        number %= 1 << 8 * dtype.itemsize
        return np.array([number], f"u{dtype.itemsize}").view(dtype)[0] if kind != "pred" else bool(number)

    def write(self, operand: str, values: Any, mask: np.ndarray) -> None:
        """The raw bits of values into a register, where the mask says so."""
        held = self.registers[operand]
        values = np.broadcast_to(np.asarray(values), held.shape)
        if held.dtype != bool:
            values = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").astype(held.dtype)
        held[mask] = values[mask]

    def _compute(self, name: str, words: list[str], kind: str, operands: list[str], mask: np.ndarray) -> None:
        into, *told = operands
        if name == "setp":
            left, right = self.read(told[0], kind), self.read(told[1], kind)
            result = _COMPARE[words[0]](left, right)
            if len(words) > 2:
                other = self.read(told[2], "pred")
                result = {"and": result & other, "or": result | other, "xor": result ^ other}[words[1]]
            self.write(into, result, mask)
            return
        if name == "selp":
            yes, no = self.read(told[0], kind), self.read(told[1], kind)
            self.write(into, np.where(self.read(told[2], "pred"), yes, no), mask)
            return
        dtype = DTYPES[kind]
        if name in ("shl", "shr"):
            value, by = self.read(told[0], kind), self.read(told[1], "u32").astype(np.uint64)
            bits = 8 * dtype.itemsize
            moved = np.left_shift if name == "shl" else np.right_shift
            result = moved(value, np.minimum(by, bits - 1).astype(dtype))
            result = np.where((by >= bits) & ((name == "shl") | (kind[0] != "s")), 0, result).astype(dtype)
            self.write(into, result, mask)
            return
        values = [self.read(t, kind) for t in told[: 3 if name in ("mad", "fma") else 2]]
        with np.errstate(all="ignore"):
            if "wide" in words:
                wide = DTYPES[f"{kind[0]}{2 * int(kind[1:])}"]
                result = np.asarray(values[0]).astype(wide) * np.asarray(values[1]).astype(wide)
                if name == "mad":
                    result = result + self.read(told[2], f"{kind[0]}{2 * int(kind[1:])}")
                self.write(into, result, mask)
                return
            if name == "mul" and "hi" in words:
                wide = np.asarray(values[0]).astype(f"{dtype.kind}8") * np.asarray(values[1]).astype(f"{dtype.kind}8")
                result = wide >> (8 * dtype.itemsize)
            else:
                result = _operation(f"{name}.NaN" if "NaN" in words else name, values, dtype)
        self.write(into, np.asarray(result).astype(dtype), mask)

    def _convert(self, words: list[str], operands: list[str], mask: np.ndarray) -> None:
        into, *told = operands
        if "f16x2" in words:
            high, low = (np.asarray(self.read(t, "f32")).astype(np.float16).view(np.uint16) for t in told)
            self.write(into, high.astype(np.uint32) << np.uint32(16) | low.astype(np.uint32), mask)
            return
        to, source = [w for w in words if w in DTYPES]
        with np.errstate(all="ignore"):
            value = np.asarray(self.read(told[0], source))
            if source[0] == "f" and to[0] != "f":
                value = np.rint(value) if "rni" in words else np.trunc(value)
            self.write(into, value.astype(DTYPES[to]), mask)

    def _packed(self, kind: str, operands: list[str], mask: np.ndarray) -> None:
        into, source = operands
        half = f"b{int(kind[1:]) // 2}"
        bits = np.uint64(int(half[1:]))
        if into.startswith("{"):
            value = np.asarray(self.read(source, kind)).astype(np.uint64)
            for i, name in enumerate(_operands(into[1:-1])):
                if name != "_":
                    self.write(name, (value >> (bits * np.uint64(i))).astype(DTYPES[half]), mask)
            return
        low, high = (np.asarray(self.read(n, half)).astype(np.uint64) for n in _operands(source[1:-1]))
        self.write(into, (high << bits | low).astype(DTYPES[kind]), mask)

    def _address(self, operand: str, mask: np.ndarray) -> np.ndarray:
        base, _, offset = operand[1:-1].partition("+")
        wide = "u64" if base in self.registers and self.registers[base].dtype.itemsize == 8 else "u32"
        value = np.broadcast_to(np.asarray(self.read(base.strip(), wide)), mask.shape).astype(np.int64)
        return value[mask] + int(offset or 0)

    def _bytes(self, space: str, at: np.ndarray, size: int, mask: np.ndarray) -> tuple[Any, Any]:
        if (at % size).any():
            raise Wrong(f"an address that {size} does not divide")
        where = at[:, None] + np.arange(size)
        if space == "shared":
            if (where < 0).any() or (where >= self.shared_bytes).any():
                raise Wrong(f"beyond {self.shared_bytes} bytes of shared memory")
            return self.shared, (self.block[mask][:, None], where)
        if (where < 0).any() or (where >= len(self.memory.mine)).any() or not self.memory.mine[where].all():
            raise Wrong("outside of every tensor")
        return self.memory.data, where

    def _access(self, name: str, words: list[str], kind: str, operands: list[str], mask: np.ndarray) -> None:
        if "param" in words:
            number = int(re.search(r"_param_(\d+)", operands[1])[1])  # type: ignore[index]
            self.write(operands[0], np.uint64(self.addresses[number]), mask)
            return
        held, place = operands if name == "ld" else operands[::-1]
        names = _operands(held[1:-1]) if held.startswith("{") else [held]
        space, size = "shared" if "shared" in words else "global", DTYPES[kind].itemsize * len(names)
        data, where = self._bytes(space, self._address(place, mask), size, mask)
        if name == "ld":
            read = np.ascontiguousarray(data[where]).view(DTYPES[kind])
            for i, one in enumerate(names):
                full = np.zeros(mask.shape, DTYPES[kind])
                full[mask] = read[:, i]
                self.write(one, full, mask)
            return
        values = [np.broadcast_to(np.asarray(self.read(n, kind)), mask.shape)[mask] for n in names]
        data[where] = np.ascontiguousarray(np.stack(values, 1)).view(np.uint8)

    def _copies(self, words: list[str], operands: list[str], mask: np.ndarray) -> None:
        if "commit_group" in words:
            self.groups.append(self.open)
            self.open = []
        elif "wait_group" in words or "wait_all" in words:
            left = int(operands[0]) if operands and operands[0] else 0
            while len(self.groups) > left:
                for where, source in self.groups.pop(0):
                    self.shared[where] = self.memory.data[source]
        elif words[:1] == ["async"] and "shared" in "".join(words):
            size = int(operands[2])
            _, source = self._bytes("global", self._address(operands[1], mask), size, mask)
            _, where = self._bytes("shared", self._address(operands[0], mask), size, mask)
            self.open.append((where, source))
        else:
            raise Wrong("unknown copy")

    def _warps(self, mask: np.ndarray) -> np.ndarray:
        """Numbers of the warps that are here, all lanes of them."""
        lanes = mask.reshape(-1, 32)
        whole = lanes.all(1)
        if (lanes.any(1) & ~whole).any():
            raise Wrong("only some lanes of a warp are here")
        return np.flatnonzero(whole)

    def _shfl(self, words: list[str], operands: list[str], mask: np.ndarray) -> None:
        self._warps(mask)
        if not {"bfly", "idx"} & set(words) or operands[-1] not in ("-1", "4294967295", "0xFFFFFFFF"):
            raise Wrong("neither butterfly nor one lane's value, in a whole warp")
        value, mine = np.asarray(self.read(operands[1], "b32")), np.arange(len(mask))
        source = mine ^ int(operands[2]) if "bfly" in words else mine - self.lane + int(operands[2])
        self.write(operands[0].split("|")[0], value[source], mask)

    def _ldmatrix(self, words: list[str], operands: list[str], mask: np.ndarray) -> None:
        warps = self._warps(mask)
        names = _operands(operands[0][1:-1])
        if "trans" in words or f"x{len(names)}" not in words or len(names) != 4:
            raise Wrong("only .x4 as it lies")
        data, (block, where) = self._bytes("shared", self._address(operands[1], mask), 16, mask)
        rows = np.ascontiguousarray(data[block, where]).view(np.uint32).reshape(len(warps), 4, 8, 4)
        for i, name in enumerate(names):  # lane 4 r + c holds word c of row r
            full = np.zeros((len(mask) // 32, 32), np.uint32)
            full[warps] = rows[:, i].reshape(-1, 32)
            self.write(name, full.reshape(-1), mask)

    def _mma(self, words: list[str], operands: list[str], mask: np.ndarray) -> None:
        warps = self._warps(mask)
        if "m16n8k16" not in words or words[-4:] != ["f32", "f16", "f16", "f32"]:
            raise Wrong("only m16n8k16 of float16 with float32 sums")
        into, a, b, c = (_operands(o[1:-1]) for o in operands)
        halves = [[np.asarray(self.read(n, "b32")).reshape(-1, 32)[warps].view(np.float16) for n in x] for x in (a, b)]
        left, right = np.zeros((len(warps), 16, 16), np.float32), np.zeros((len(warps), 16, 8), np.float32)
        lane = np.arange(32)
        row, column = lane // 4, lane % 4 * 2
        for i in range(4):
            words_a = halves[0][i].reshape(-1, 32, 2)
            for j in range(2):
                left[:, row + i % 2 * 8, column + i // 2 * 8 + j] = words_a[:, :, j]
        for i in range(2):
            words_b = halves[1][i].reshape(-1, 32, 2)
            for j in range(2):
                right[:, column + i * 8 + j, row] = words_b[:, :, j]
        product = left @ right
        for i, (name, add) in enumerate(zip(into, c, strict=True)):
            old = np.broadcast_to(np.asarray(self.read(add, "f32")), mask.shape).reshape(-1, 32)
            full = np.zeros((len(mask) // 32, 32), np.float32)
            full[warps] = old[warps] + product[:, row + i // 2 * 8, column + i % 2]
            self.write(name, full.reshape(-1), mask)


def _operation(name: str, values: list[Any], dtype: np.dtype) -> Any:
    a = values[0]
    one = {
        "mov": lambda: a, "not": lambda: ~a, "neg": lambda: -a,
        "abs": lambda: np.abs(a), "ex2": lambda: np.exp2(a), "rsqrt": lambda: 1 / np.sqrt(a), "rcp": lambda: 1 / a,
    }  # fmt: skip
    if name in one:
        return one[name]()
    b = values[1]
    if name in ("fma", "mad"):
        if dtype.kind == "f":
            return (np.asarray(a, np.float64) * b + values[2]).astype(dtype)
        return a * b + values[2]
    two = {
        "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "and": lambda: a & b,
        "or": lambda: a | b,
        "xor": lambda: a ^ b, "max": lambda: np.fmax(a, b), "min": lambda: np.fmin(a, b),
        "max.NaN": lambda: np.maximum(a, b), "min.NaN": lambda: np.minimum(a, b),
        "div": lambda: a / b if dtype.kind == "f" else np.trunc(a / b).astype(dtype),
        "rem": lambda: np.fmod(a, b),
    }  # fmt: skip
    if name not in two:
        raise Wrong("unknown instruction")
    return two[name]()
