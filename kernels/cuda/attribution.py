"""What each feature has done to the prediction of a row: Shapley values of trees.

`kernels.cpu.attribution` explains the method. Here a thread takes a row through all trees, with the
same operations in the same order. Which edges it passes, one after another, is the same for all
rows; what belongs to the depths of the path to its node lies in global memory, neighbouring rows
side by side, so that a path may be as deep as there is memory for.
"""

import numpy as np

from gputree.kernels.cuda.gpu import ballot, cuda, function, kernel, multiply
from gputree.kernels.cuda.predict import place_of

# An edge of a tree, in the order in which edges are passed: the node below it, how many edges lead
# from the root down to that, the depth at which its feature was tested before (0: never), the
# feature that is credited, which child it leads to, the edge after all that is below it, and the
# edge above it (-1: none).
NODE, DEPTH, BACK, FEATURE, TURN, AFTER, ABOVE, EDGE_COLUMNS = range(8)
# What belongs to a depth: the factors of an unknown and of a known feature; then for each point of
# the quadrature the product of all factors, one over the factor of the last test, and the sums of
# what lies below.
ZERO, ONE, BY_POINT = 0, 1, 2


def make_attribute(has_categories, stay):
    """Shapley values of rows; a slot of `stay` says that a node does not tell the branch."""

    @function
    def slot_at(
        value, at, threshold, missing_slot, category_start, category, category_slot
    ):  # fmt: skip
        """The child to which a value leads from a node."""
        slot = np.int64(1) if value > threshold[at] else np.int64(0)
        is_known = value == value
        if has_categories and is_known and category_start[at] >= 0:
            place = place_of(np.int64(value), category_start[at], category)
            slot = np.int64(category_slot[place])
            is_known = slot != stay
        return slot if is_known else np.int64(missing_slot[at])

    @function
    def fraction(slot, child, share):
        """What goes to a child: all or nothing; its share where no child is told."""
        whole = 1.0 if slot == child else 0.0
        return share if slot == stay else whole

    @kernel
    def attribute(
        n_rows, n_others, n_trees, values, others, first_edge, edge, n_points, most_points, point,
        quadrature, root, column, threshold, missing_slot, first_child, node_share, category_start,
        category, category_slot, output, width, node_value, n_outputs, most_depth, path, slots,
        credited,
    ):  # fmt: skip
        """credited[(feature * n_outputs + output) * n_rows + row] gets what is added.

        `others` are rows that stand for what is not known, one after another; if there are none,
        the shares of the training weight do. `path` and `slots` are room for all threads.
        """
        thread, n_threads = np.int64(cuda.grid(1)), np.int64(cuda.gridsize(1))
        inverse_of, below_of = BY_POINT + most_points, BY_POINT + 2 * most_points
        # From one entry to the next of a thread, and from one depth to the next.
        down = (below_of + most_points * width) * n_threads
        other_slots = (most_depth + 1) * n_threads + thread
        for k in range(below_of):
            path[k * n_threads + thread] = 1.0
        first_row = np.int64(cuda.blockIdx.x) * np.int64(cuda.blockDim.x)
        while first_row < n_rows:
            # Threads beyond the last row go along with it, so that all of a warp stay together.
            is_own = first_row + np.int64(cuda.threadIdx.x) < n_rows
            row = first_row + np.int64(cuda.threadIdx.x) if is_own else np.int64(n_rows - 1)
            for number in range(n_trees * max(1, n_others)):
                tree = np.int64(number // max(1, n_others))
                other = np.int64(number % max(1, n_others))
                points, rule = np.int64(n_points[tree]), np.int64(n_points[tree]) * most_points
                next_edge, end = np.int64(first_edge[tree]), np.int64(first_edge[tree + 1])
                current, depth, node = np.int64(-1), np.int64(0), np.int64(root[tree])
                has_arrived = True
                while has_arrived or depth > 0 or next_edge < end:
                    here = depth * down + thread
                    if has_arrived:
                        has_arrived = False
                        is_leaf = first_child[node] < 0
                        for q in range(points):
                            above = path[here + (BY_POINT + q) * n_threads]
                            for i in range(width):
                                added = node_value[node * width + i] if is_leaf else 0.0
                                at = here + (below_of + q * width + i) * n_threads
                                path[at] = multiply(above, added)
                        if not is_leaf:
                            value = values[column[node] * n_rows + row]
                            slots[depth * n_threads + thread] = slot_at(
                                value, node, threshold, missing_slot, category_start, category,
                                category_slot,
                            )  # fmt: skip
                            unknown_slot = np.int64(stay)
                            if n_others > 0:
                                unknown_slot = slot_at(
                                    others[column[node] * n_others + other], node, threshold,
                                    missing_slot, category_start, category, category_slot,
                                )  # fmt: skip
                            slots[other_slots + depth * n_threads] = unknown_slot
                    to_depth = np.int64(0)
                    if next_edge < end:
                        to_depth = np.int64(edge[next_edge * EDGE_COLUMNS + DEPTH])
                    if next_edge < end and to_depth == depth + 1:
                        own = next_edge * EDGE_COLUMNS
                        node = np.int64(edge[own + NODE])
                        back = np.int64(edge[own + BACK]) * down + thread
                        turn, part = np.int64(edge[own + TURN]), node_share[node]
                        slot = np.int64(slots[depth * n_threads + thread])
                        unknown_slot = np.int64(slots[other_slots + depth * n_threads])
                        known = multiply(path[back + ONE * n_threads], fraction(slot, turn, part))
                        unknown = multiply(
                            path[back + ZERO * n_threads], fraction(unknown_slot, turn, part)
                        )
                        # What nothing reaches for any row of the warp is left out.
                        if ballot(known != 0.0 or unknown != 0.0) == 0:
                            next_edge = np.int64(edge[own + AFTER])
                        else:
                            below = here + down
                            path[below + ZERO * n_threads] = unknown
                            path[below + ONE * n_threads] = known
                            for q in range(points):
                                now = unknown + multiply(point[rule + q], known - unknown)
                                above = path[here + (BY_POINT + q) * n_threads]
                                earlier = path[back + (inverse_of + q) * n_threads]
                                # A row that cannot get here has 0, and nothing to divide.
                                later = 1.0 / (now if now > 0.0 else 1.0)
                                path[below + (inverse_of + q) * n_threads] = later
                                path[below + (BY_POINT + q) * n_threads] = multiply(
                                    multiply(above, earlier), now
                                )
                            current, next_edge = next_edge, next_edge + 1
                            depth, has_arrived = to_depth, True
                    elif depth > 0:
                        own = current * EDGE_COLUMNS
                        back = np.int64(edge[own + BACK]) * down + thread
                        unknown = path[here + ZERO * n_threads]
                        gains = path[here + ONE * n_threads] - unknown
                        unknown = path[back + ZERO * n_threads]
                        had_gains = path[back + ONE * n_threads] - unknown
                        feature = np.int64(edge[own + FEATURE])
                        for i in range(width):
                            credit = 0.0
                            for q in range(points):
                                # A feature tested before has had its credit for all that is below.
                                gain = multiply(gains, path[here + (inverse_of + q) * n_threads])
                                earlier = path[back + (inverse_of + q) * n_threads]
                                had = multiply(had_gains, earlier)
                                at = (below_of + q * width + i) * n_threads
                                reached = path[here + at]
                                weighed = multiply(quadrature[rule + q], reached)
                                credit += multiply(weighed, gain - had)
                                path[here - down + at] += reached
                            if is_own:
                                to = feature * n_outputs + output[tree] + i
                                credited[to * n_rows + row] += credit
                        current, depth = np.int64(edge[own + ABOVE]), depth - 1
            first_row += n_threads

    return attribute
