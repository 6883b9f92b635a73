r"""Any Python string as text that every SQLite tool can read, and back without loss.

UTF-8 has no lone surrogates (file names that are no valid UTF-8 hold them), and most tools end a
text at a NUL. Both are written as ``\uXXXX``, four lower-case hexadecimal digits, and so is a
backslash that would otherwise look like the start of one of these. Everything else stays as it is.
"""

import re

__all__ = ["escape", "unescape", "visible"]

_CODES = "d[89a-f][0-9a-f]{2}|0000|005c"
_SPECIAL = re.compile(f"[\ud800-\udfff\0]|\\\\(?=u(?:{_CODES}))")
_ESCAPED = re.compile(rf"\\u({_CODES})")


def escape(text: str) -> str:
    """The text as it is written into the file."""
    if text.isascii() and "\\" not in text and "\0" not in text:
        return text
    return _SPECIAL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def unescape(text: str) -> str:
    """The text as it was before :func:`escape`."""
    if "\\u" not in text:
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def visible(text: str) -> str:
    """The text with everything invisible (control, bidi, surrogates) as backslash escapes.

    Names come from the profiled program: they must not steer a terminal or a title.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _code(char) for char in text)


def _code(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
