"""The companion library to "How Many Different Outputs Can a Transformer Generate?".

Import the room you need: ``from accessibility_lib import bounds, supports``.  Nothing is imported
here but the error class, so the numbers (precision, supports, bounds) start without torch.
"""

from accessibility_lib.errors import AccessibilityError

__version__ = "0.1.0"
__all__ = ["AccessibilityError", "__version__"]
