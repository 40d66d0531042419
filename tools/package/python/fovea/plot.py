"""Pictures of attention, where matplotlib is installed."""


def attention(weights, tokens=None, queries=None):
    """A figure with one map for each head. weights [heads][queries][keys], as attend(..., weights=True) gives
    them.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from missing
    heads = len(weights)
    columns = min(heads, 4)
    figure, axes = plt.subplots(
        -(-heads // columns), columns, squeeze=False, figsize=(3 * columns, 3 * -(-heads // columns))
    )
    for head, axis in enumerate(axes.flat):
        axis.set_visible(head < heads)
        if head < heads:
            axis.imshow(weights[head], vmin=0, vmax=1, cmap="Blues")
            axis.set_title(f"head {head}")
            if tokens is not None:
                axis.set_xticks(range(len(tokens)), tokens, rotation=90)
            if queries or tokens is not None:
                names = queries or tokens
                axis.set_yticks(range(len(names)), names)
    figure.tight_layout()
    return figure
