"""What backends say that have no quicker way than one frontier after another."""

from collections.abc import Sequence

from gputree.backends.contract import BoostRules, Data, Limits, Margins, Rows, Search
from gputree.data.bins import Bins
from gputree.dtypes import HostArray


class ByFrontiers:
    """Neither whole trees nor whole rounds."""

    grows_whole = False

    def grow_whole(
        self,
        roots: Sequence[Rows],
        totals: HostArray,
        keys: HostArray,
        search: Search,
        limits: Limits,
    ) -> None:
        return None

    def boost(
        self,
        data: Data,
        bins: Bins,
        margins: Margins,
        rules: BoostRules,
        takes_part: HostArray | None,
        columns: HostArray | None,
        keys: HostArray,
    ) -> None:
        return None
