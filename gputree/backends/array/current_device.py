"""Array code on a library's device, whichever device is the current one of the thread."""

from collections.abc import Iterator
from typing import Any

from gputree.backends.array.libraries import Library
from gputree.backends.contract import Backend


class OnDevice:
    """Wraps a backend whose library makes arrays, and works, on the current device."""

    def __init__(self, backend: Backend, library: Library) -> None:
        self._backend = backend
        self._library = library

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._backend, name)
        if not callable(found):
            return found

        def there(*args: Any, **kwargs: Any) -> Any:
            with self._library.current():
                result = found(*args, **kwargs)
            return self._each(result) if isinstance(result, Iterator) else result

        return there

    def _each(self, items: Iterator[Any]) -> Iterator[Any]:
        """What a verb gives one after another is made there, too."""
        while True:
            with self._library.current():
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item
