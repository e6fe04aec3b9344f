"""Models in formats of other libraries, data bases and programs, one module a format."""

from gputree.export.files import FORMATS, export
from gputree.export.plan import NotExportable

__all__ = ["FORMATS", "NotExportable", "export"]
