"""Figures as people read them."""


def shown(value, figure):
    """`figure` is a key of our programs' JSON."""
    if value is None:
        return "-"
    if figure == "messages_per_second":
        return f"{value / 1e6:.2f} M/s"
    return f"{value / 1e9:.2f} GB/s" if figure == "bytes_per_second" else f"{value:.3g} us"


def shown_spread(values, figure):
    """From the least to the most; the unit is that of both."""
    least, most = shown(min(values), figure), shown(max(values), figure)
    return f"{least.split()[0]} to {most}"


def size_text(size_bytes):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit} {name}"
    return f"{size_bytes} B"
