"""Shapley values on the device: the edges of trees in the order they are passed, and the room."""

from collections.abc import Iterable
from functools import cache

import numpy as np

from gputree.backends.attribution import Quadrature
from gputree.backends.cuda.binning import CudaValues
from gputree.backends.cuda.launch import Launches
from gputree.dtypes import STAY, Array, HostArray
from gputree.kernels.cuda import attribution as kernels
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree

PATH_BYTES = 2**28  # of the paths of all threads
LEAST_THREADS = 2**10  # with fewer, the host is not slower

make_attribute = cache(kernels.make_attribute)


def path_bytes(stack: Stack, plan: Quadrature) -> int:
    """What a thread needs for the path to a node."""
    most_points = plan.point.shape[1]
    floats = kernels.BY_POINT + most_points * (2 + stack.width)
    return (plan.most_depth + 1) * (8 * floats + 2 * 4)


def can_attribute(launches: Launches, stack: Stack, plan: Quadrature) -> bool:
    """Whether there is room for the paths of so many rows that the device is worth it."""
    return _most_threads(launches, stack, plan) >= LEAST_THREADS


def _most_threads(launches: Launches, stack: Stack, plan: Quadrature) -> int:
    free = launches.device.free_bytes()
    room = PATH_BYTES if free is None else min(PATH_BYTES, free // 4)
    return room // path_bytes(stack, plan)


def attribute(
    launches: Launches,
    stack: Stack,
    plan: Quadrature,
    owner: HostArray,
    nodes: tuple[bool, HostArray, list[Array]],
    blocks: Iterable[CudaValues],
    others: CudaValues | None,
) -> HostArray:
    """The values, (rows, features, outputs), of some rows after others; added up over `others`.

    `nodes` tells whether categories are tested, and has the trees on the device.
    """
    dev, threads = launches.device, launches.tuning.attribution_threads
    has_categories, _, on_device = nodes
    root, column, threshold, missing_slot, first_child, *categories = on_device
    n_credited = (int(owner.max()) + 1) * stack.n_outputs
    most_blocks = max(1, _most_threads(launches, stack, plan) // threads)
    edges = [edges_of(tree, owner) for tree in stack.trees]
    first_edge = np.cumsum([0, *map(len, edges)])
    for own, begin, first in zip(edges, stack.root.tolist(), first_edge.tolist(), strict=False):
        own[:, kernels.NODE] += begin
        own[:, kernels.AFTER] += first
        own[own[:, kernels.ABOVE] >= 0, kernels.ABOVE] += first
    tables = dev.pack(
        first_edge.astype(np.int64),
        np.concatenate(edges).astype(np.int32),
        plan.n_points.astype(np.int64),
        plan.point,
        plan.weight,
        np.concatenate([tree.share for tree in stack.trees]),
        stack.column,
        stack.value,
    )
    first_edge, edge, n_points, point, quadrature, share, output, value = tables
    most_points = plan.point.shape[1]
    unknown, n_others = dev.empty(1, np.float64), 0
    if others is not None:  # few rows; always of the same type
        unknown = dev.upload(dev.download(others.values).astype(np.float64))
        n_others = others.n_rows
    found = []
    for held in blocks:
        n_blocks = min(-(-held.n_rows // threads), most_blocks)
        n_floats = path_bytes(stack, plan) // 8 - (plan.most_depth + 1)
        credited = dev.zeros(n_credited * held.n_rows, np.float64)
        dev.launch(
            make_attribute(has_categories, STAY),
            n_blocks,
            threads,
            *(held.n_rows, n_others, stack.n_trees, held.values, unknown),
            *(first_edge, edge, n_points, most_points, point, quadrature),
            *(root, column, threshold, missing_slot, first_child, share, *categories),
            *(output, stack.width, value, stack.n_outputs, plan.most_depth),
            dev.empty(n_floats * n_blocks * threads, np.float64),
            dev.empty(2 * (plan.most_depth + 1) * n_blocks * threads, np.int32),
            credited,
        )
        sums = dev.download(credited)[: n_credited * held.n_rows]
        found.append(np.moveaxis(sums.reshape(-1, stack.n_outputs, held.n_rows), 2, 0))
    return np.ascontiguousarray(np.concatenate(found))


def edges_of(tree: Tree, owner: HostArray) -> HostArray:
    """The edges of a tree in the order they are passed: what is below one comes right after it."""
    parent, levels = tree.parent.astype(np.int64), tree.levels()
    size = np.ones(tree.n_nodes, np.int64)
    for begin, end in reversed(levels[1:]):
        np.add.at(size, parent[begin:end], size[begin:end])
    place = np.zeros(tree.n_nodes, np.int64)  # of the root, then of each edge by its node
    for begin, end in levels[1:]:
        before = np.cumsum(size[begin:end]) - size[begin:end]
        own_first = tree.first_child[parent[begin:end]]
        place[begin:end] = place[parent[begin:end]] + 1 + before - before[own_first - begin]
    node = np.arange(1, tree.n_nodes)
    feature = np.append(-1, owner[tree.feature[parent[1:]]])
    depth, back = tree.depth, np.zeros(tree.n_nodes, np.int64)
    above = parent[1:].copy()
    while (above > 0).any():
        is_last = (above > 0) & (feature[above] == feature[1:]) & (back[1:] == 0)
        back[1:][is_last] = depth[above[is_last]]
        above = np.where(above > 0, parent[above], 0)
    edge = np.empty((tree.n_nodes - 1, kernels.EDGE_COLUMNS), np.int64)
    at = place[1:] - 1
    edge[at, kernels.NODE], edge[at, kernels.FEATURE] = node, feature[1:]
    edge[at, kernels.DEPTH], edge[at, kernels.BACK] = depth[1:], back[1:]
    edge[at, kernels.TURN] = node - tree.first_child[parent[1:]]
    edge[at, kernels.AFTER] = at + size[1:]
    edge[at, kernels.ABOVE] = place[parent[1:]] - 1
    return edge
