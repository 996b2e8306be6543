"""A result with more than counts: what it claims and on which source, and a picture of it.

Each fault of `FAULTS` loses or falsifies one thing.
"""

from a2a.helpers import new_data_part
from a2a.types import Part

FAULTS = {
    "lost": "the picture is not there",
    "swapped": "the picture stands before what it is of",
    "false-type": "the picture is a document",
    "sourceless": "a claim names a source that is not listed",
    "miscounted": "nothing is counted",
}

# one transparent pixel
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


def counted(counts):
    """The counts alone."""
    return [new_data_part(counts, media_type="application/json")]


def charted(fault):
    """The counts with claims, sources and a picture, but for the fault."""

    def parts(counts):
        words = 0 if fault == "miscounted" else counts["words"]
        source = "hearsay" if fault == "sourceless" else "message"
        claim = {"text": f"The text has {words} words.", "source": source}
        told = new_data_part(
            {**counts, "words": words, "sources": ["message"], "claims": [claim]}, media_type="application/json"
        )
        picture = Part(raw=b"%PDF-1.7\n" if fault == "false-type" else PICTURE, media_type="image/png")
        if fault == "lost":
            return [told]
        return [picture, told] if fault == "swapped" else [told, picture]

    return parts
