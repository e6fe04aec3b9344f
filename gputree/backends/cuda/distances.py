"""How far the targets of the rows at nodes are from means, on the device."""

from functools import cache

import numpy as np

from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.rows import CudaRows
from gputree.dtypes import HostArray
from gputree.kernels.cuda import distances
from gputree.shares import room_for_sums

make_distances = cache(distances.make_distances)


def apart(
    launches: Launches, rows: CudaRows, nodes: HostArray, mean: HostArray, scale: HostArray
) -> tuple[HostArray, int]:
    channels, planes, dev = rows.target.channels, rows.planes, launches.device
    farthest, add_distances = make_distances(channels.is_counts)
    found, has_rows = np.zeros(len(nodes)), np.flatnonzero(rows.n_rows[nodes])
    own, n_outputs = nodes[has_rows], len(mean)
    start, n_rows = rows.start[own], rows.n_rows[own]
    tiles, (scales, means) = launches.cut(start, n_rows, scale, mean[:, has_rows])
    # Weights have limbs before those of the outputs; where there are none, each is 1.
    n_limbs = planes.limb_counts[0] if len(planes.limb_counts) > n_outputs else 0
    given = rows.order, len(own), n_outputs, rows.target.n_rows, rows.point, scales, means
    largest, sums = dev.zeros(1, np.int64), dev.zeros(len(own), np.int64)
    launches.over_tiles(farthest, tiles, *given, n_limbs, rows.limb, largest)
    most = float(dev.download(largest).view(np.float64)[0])
    shift = room_for_sums(int(n_rows.sum()), most)
    unit = dev.upload(np.ldexp(1.0, [shift // 2, shift - shift // 2]))
    launches.over_tiles(add_distances, tiles, *given, n_limbs, rows.limb, unit, sums)
    found[has_rows] = dev.download(sums)[: len(own)]
    return found, shift
