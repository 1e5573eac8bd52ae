"""The one error class of the package."""


class AccessibilityError(ValueError):
    """Bad input.  The message names the value, the limit it broke and the remedy."""
