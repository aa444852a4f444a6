# SPDX-License-Identifier: BSD-2-Clause
"""Figures as people read them."""


def shown(value, figure):
    """`figure` is a key of our programs' JSON."""
    if value is None:
        return "-"
    if figure == "messages_per_second":
        return f"{value / 1e6:.2f} M/s" if value >= 1e6 else f"{value / 1e3:.0f} k/s"
    if figure == "bytes_per_second":
        return f"{value / 1e9:.2f} GB/s"
    if figure == "bits_per_second":
        return f"{value / 1e9:.3g} Gbit/s"
    if figure == "call_ns":
        return f"{value:.1f} ns"
    if figure == "resident_bytes":
        return f"{value / 1024:.1f} KiB"
    if figure == "least_share":
        return f"{value:.2f}"
    return f"{value:.0f} us" if value >= 1000 else f"{value:.3g} us"


def shown_spread(values, figure):
    """From the least to the most, with one unit where it is that of both."""
    least, most = shown(min(values), figure).split(), shown(max(values), figure).split()
    return " ".join([least[0] if least[1:] == most[1:] else " ".join(least), "to", *most])


def size_text(size_bytes):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit} {name}"
    return f"{size_bytes} B"
