"""What a call of fovea_fixed_attend_plain costs, as a closed form: what it does how often, and a coefficient for each of these.

The counts follow the code of lib/fixed/compact.hpp: rows of a tile, blocks of 64 keys, panels of 16 lanes. `Structure` holds the numbers
in which the cores differ. Coefficients are fitted by least squares of the relative error, in plain Python."""
from collections import Counter, namedtuple

BLOCK = 64
Call = namedtuple("Call", "q_heads kv_heads queries keys dim v_dim causal raises")
Structure = namedtuple("Structure", "rows key_step dim_step")  # rows of a tile; products take multiples of these keys and dims
STRUCTURES = [Structure(rows, keys, dims) for rows in (1, 2, 4) for keys in (64, 16, 8, 4) for dims in (16, 8, 4)]


def up_to(n, step):
    return (n + step - 1) // step * step


def counts_of(call, structure):
    """Name -> how often. Keys that a row sees are 0 .. ends[row] - 1; all KV heads cost the same."""
    group, n = call.q_heads // call.kv_heads, Counter()
    ends = [min(call.keys, call.keys - call.queries + row // group + 1) if call.causal else call.keys
            for row in range(call.queries * group)]
    for first in range(0, len(ends), structure.rows):
        _add_tile(n, call, ends[first:first + structure.rows], structure)
    if group > 1:
        n["rows of groups"] = len(ends)
    for name in n:
        n[name] *= call.kv_heads
    _add_queries(n, call, structure)
    n["call"], n["kv heads"], n["causal"] = 1, call.kv_heads, call.causal
    return n


def _add_queries(n, call, structure):
    """Four elements of a query at a time, those behind its last four byte by byte. Rows begin at multiples of four."""
    rows, fours = call.q_heads * call.queries, up_to(call.dim, structure.dim_step) // 4
    n["fours of q"] = rows * fours
    n["fours of q, byte by byte"] = rows * (fours - call.dim // 4)


def _add_tile(n, call, ends, structure):
    rows, last = len(ends), max(ends)
    depth, width = up_to(call.dim, 16), up_to(call.v_dim, 16)
    n[f"tiles of {rows}"] += 1
    n["rows"] += rows
    n["rows, pieces of q"] += rows * (depth // 16)
    n["rows, q with a rest"] += rows * (call.dim % 16 != 0)
    n["rows, pieces of q with a rest"] += rows * (depth // 16) * (call.dim % 16 != 0)
    n["rows, columns"] += rows * width
    n["rows, v_dim"] += rows * call.v_dim
    for block in range((last + BLOCK - 1) // BLOCK):
        at = block * BLOCK
        seen = [max(0, min(BLOCK, end - at)) for end in ends]
        keys = min(BLOCK, up_to(max(seen), structure.key_step))
        _add_products(n, rows, block == 0, keys, up_to(call.dim, structure.dim_step), up_to(call.v_dim, structure.dim_step))
        for mine in seen:
            _add_row(n, call, block, mine, keys, width)


def _add_products(n, rows, first, keys, depth, columns):
    """Scores and values of a block: lanes by rows, in panels of 16 lanes."""
    n[f"blocks of {rows}"] += 1
    n[f"key lanes of {rows}"] += keys
    n[f"key panels of {rows}"] += up_to(keys, 16) // 16
    n[f"keys, depth of {rows}"] += keys * depth
    n[f"value lanes of {rows}"] += columns
    n[f"value panels of {rows}"] += up_to(columns, 16) // 16
    n[f"keys, columns of {rows}"] += keys * columns
    n["first blocks, columns"] += first * up_to(columns, 16)
    depth = up_to(depth, 16)
    # Helium takes dims in chunks of 64, the first of a row also in one of 32.
    whole, rest = divmod(depth, 64)
    half = not whole and rest >= 32
    n["chunks of 64"] += whole
    n["first chunks of 64"] += whole > 0
    n["chunks of 32"] += half
    n["chunks of 16"] += (rest - 32 * half) // 16


def _add_row(n, call, block, seen, keys, width):
    raised = call.raises >> block & 1 and seen > 0
    n["row blocks"] += 1
    n["row keys"] += keys
    n["row blocks, parts"] += seen < BLOCK
    n["row keys, hidden"] += keys - seen
    n["row keys, hidden by fours"] += (keys - seen + 3) // 4
    if block == 0:
        n["first raises, keys"] += keys
    n["raises"] += raised
    n["raises, keys"] += raised * keys
    n["raises, columns"] += raised * width


def predict(counts, coefficients):
    return sum(coefficients.get(name, 0) * count for name, count in counts.items())


def fit(samples):
    """Name -> coefficient, of pairs (counts, instructions): least squares of the relative error. What others explain gets none."""
    names = sorted({name for counts, _ in samples for name in counts})
    size = len(names)
    rows = [[counts.get(name, 0) / total for name in names] for counts, total in samples]
    scale = [max(abs(row[i]) for row in rows) or 1 for i in range(size)]
    a = [[0.0] * (size + 1) for _ in range(size)]
    for row in rows:
        row = [x / s for x, s in zip(row, scale)]
        for i, x in enumerate(row):
            if x:
                line = a[i]
                for j, y in enumerate(row):
                    line[j] += x * y
                line[size] += x
    least = [1e-9 * a[i][i] for i in range(size)]
    left, found = set(range(size)), {}
    while left:  # elimination by the largest of the diagonal
        pivot = max(left, key=lambda i: a[i][i])
        if a[pivot][pivot] <= max(least[pivot], 1e-13 * len(samples)):
            break
        left.discard(pivot)
        found[pivot] = None
        for i in range(size):
            factor = a[i][pivot] / a[pivot][pivot] if i != pivot else 0
            if factor:
                a[i] = [x - factor * y for x, y in zip(a[i], a[pivot])]
    return {names[i]: a[i][size] / a[i][i] / scale[i] for i in found}
